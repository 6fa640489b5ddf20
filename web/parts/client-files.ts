/** What is copied for a client: for one protocol, which is enough to begin with; what is for other protocols is folded away below it. */
import type { ClientRow } from '../../lib/console/answers.ts'
import { type Child, details, div, span, summary } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { words } from '../base/words.ts'
import { fill, snippetsFor, type Values } from '../shared/fill.ts'
import { snippet } from './copy.ts'

const w = words({ others: ['用其他协议', 'By other protocols'] })

type Snippet = ClientRow['snippets'][number]

/** `model`: as in `snippetsFor`. */
export function clientFiles(row: ClientRow, model: Parameters<typeof snippetsFor>[1], values: Values): Child {
  const all = snippetsFor(row, model)
  const isOfFirst = ({ protocols }: Snippet) => protocols?.[0] === all[0]?.protocols?.[0]
  const shown = ({ title, syntax, text }: Snippet) => div({ key: title }, snippet(fill(text, syntax, values), title))
  const others = all.filter(one => !isOfFirst(one))
  return [
    all.filter(isOfFirst).map(shown),
    others.length > 0 &&
      details(
        { class: 'unfolding', key: 'others' },
        summary({}, icon('down'), span({}, w.others())),
        div({ class: 'stack' }, others.map(shown)),
      ),
  ]
}
