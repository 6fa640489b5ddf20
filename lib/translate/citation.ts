/** Citations of addresses, in the form that chat and responses share: one puts them into a member of their own. */
import type { Citation } from './events.ts'
import { EMPTY, type Source } from './json/literal.ts'
import type { Node, Tree } from './json/tree.ts'
import { object, typed } from './json/write.ts'

const TYPE = 'url_citation'

/** null = it is something else. */
export function citationOf(tree: Tree, annotation: Node): Citation | null {
  if (tree.string(tree.get(annotation, 'type')) !== TYPE) return null
  const inner = tree.get(annotation, TYPE)
  const node = tree.kind(inner) === 'object' ? inner : annotation
  const url = tree.literal(tree.get(node, 'url'))
  if (url === null) return null
  const place = (name: string): Source => {
    const value = tree.get(node, name)
    return /^\d{1,9}$/.test(tree.source(value)) ? tree.source(value) : '0'
  }
  return {
    url,
    title: tree.literal(tree.get(node, 'title')) ?? EMPTY,
    start: place('start_index'),
    end: place('end_index'),
  }
}

const members = ({ url, title, start, end }: Citation): Record<string, Source> => ({
  start_index: start,
  end_index: end,
  url,
  title,
})

export const flatCitation = (citation: Citation): Source => typed(TYPE, members(citation))

export const nestedCitation = (citation: Citation): Source => typed(TYPE, { [TYPE]: object(members(citation)) })

/** Bytes of memory. */
export const sizeOfNote = ({ url, title }: Citation): number => url.length + title.length
