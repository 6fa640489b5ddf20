/** What several schemas that all hold say together. */
import type { Node } from '../json/tree.ts'
import type { SchemaSource } from './schema-source.ts'

/** Of words that are said twice the first counts. */
export interface Merged {
  words: Map<string, Node>
  properties: Map<string, Node[]>
  required: Set<string>
  refs: string[]
}

export const nothing = (): Merged => ({ words: new Map(), properties: new Map(), required: new Set(), refs: [] })

/** Adds schemas, and those that they say must hold with them. */
export function merge(found: Merged, schemas: readonly Node[], source: SchemaSource): void {
  const { tree } = source
  const nodes = [...schemas]
  for (let at = 0; at < nodes.length; at++)
    source.members(nodes[at] as Node, (name, value) => {
      if (name === 'allOf') for (const one of source.elements(value)) nodes.push(one)
      else if (name === '$ref') found.refs.push(tree.string(value) ?? '')
      else if (name === 'required') for (const one of source.elements(value)) found.required.add(tree.string(one) ?? '')
      else if (name === 'properties') source.members(value, (key, one) => addProperty(found, key, one))
      else if (!found.words.has(name)) found.words.set(name, value)
    })
}

function addProperty({ properties }: Merged, name: string, node: Node): void {
  const same = properties.get(name)
  if (same === undefined) properties.set(name, [node])
  else same.push(node)
}
