/** The request of the playground as code: what each client that speaks the protocol would run, with the key left to be filled in. */
import type { ClientRow } from '../../../lib/console/answers.ts'
import type { Signal } from '@preact/signals'
import type { Child } from '../../base/element.ts'
import { div } from '../../base/element.ts'
import { inLanguage, words } from '../../base/words.ts'
import { snippet } from '../../parts/copy.ts'
import { tabs } from '../../parts/tabs.ts'
import { fill, type Syntax } from '../../shared/fill.ts'
import { requestText } from '../../shared/literal.ts'
import { type Asked, SPOKEN, type SpokenProtocol } from './spoken.ts'

const w = words({ clients: ['客户端', 'Clients'] })

/** The characters that are shown of a picture that was sent. */
const SHOWN = 40

/** A picture is as long as a book, and nobody reads it. */
const shortened = (asked: Asked): Asked => ({
  ...asked,
  turns: asked.turns.map(turn => ({
    ...turn,
    pictures: turn.pictures.map(url => (url.length > SHOWN ? `${url.slice(0, SHOWN)}…` : url)),
  })),
})

/**
 * Google's SDK takes the members of the configuration together, and the model beside them. Anthropic's in Python knows no temperature, and
 * passes on what stands in `extra_body`.
 */
function bodyFor(client: string, syntax: Syntax, protocol: string, asked: Asked): object {
  const body = (SPOKEN[protocol] as SpokenProtocol).body(asked)
  if (client === 'anthropic-sdk' && syntax === 'python') {
    const { temperature, ...known } = body
    return temperature === undefined ? body : { ...known, extra_body: { temperature } }
  }
  if (client !== 'google-sdk') return body
  const { systemInstruction, generationConfig, contents } = body
  const config = { ...(systemInstruction === undefined ? {} : { systemInstruction }), ...(generationConfig as object) }
  return { model: asked.model, contents, ...(Object.keys(config).length === 0 ? {} : { config }) }
}

export interface CodePiece {
  client: string
  title: string
  text: string
}

export function codesOf(clients: readonly ClientRow[], base: string, protocol: string, asked: Asked): CodePiece[] {
  const values = { base, key: 'sk-…', model: asked.model, name: 'Gateway' }
  return clients.flatMap(({ id, snippets }) =>
    snippets.flatMap(({ title, syntax, frame, protocols }) =>
      frame === undefined || !protocols?.some(one => one === protocol)
        ? []
        : {
            client: id,
            title,
            text: fill(frame, syntax, values).replace('{request}', () =>
              requestText(syntax, bodyFor(id, syntax, protocol, shortened(asked))),
            ),
          },
    ),
  )
}

export function codeTabs(
  clients: readonly ClientRow[],
  base: string,
  protocol: string,
  asked: Asked,
  chosen: Signal<string>,
): Child {
  const codes = codesOf(clients, base, protocol, asked)
  const shown = clients.filter(({ id }) => codes.some(({ client }) => client === id))
  return tabs(
    'code',
    w.clients(),
    chosen,
    shown.map(({ id, name }) => ({
      id,
      title: inLanguage(name),
      panel: () =>
        codes.filter(({ client }) => client === id).map(({ title, text }) => div({ key: title }, snippet(text, title))),
    })),
  )
}
