/**
 * Schemas of answers for messages, where an object that does not say that it has no other properties is refused. Tools' schemas may be open.
 */
import { literal, type Source } from './json/literal.ts'
import { type Node, Tree } from './json/tree.ts'
import { array } from './json/write.ts'

/** What is deeper stays as it is. */
const LEVELS = 64
const NAMED = new Set(['properties', '$defs', 'definitions'])
const LISTS = new Set(['anyOf', 'oneOf', 'prefixItems'])

/** `changed`: the client allowed other properties by name. */
export function closedSchema(schema: Source): { schema: Source; changed: boolean } {
  const tree = new Tree(LEVELS)
  if (!tree.read(schema)) return { schema, changed: false }
  const closer = new Closer(tree)
  return { schema: closer.close(tree.root), changed: closer.changed }
}

class Closer {
  readonly #tree: Tree
  changed = false

  constructor(tree: Tree) {
    this.#tree = tree
  }

  close(node: Node): Source {
    const tree = this.#tree
    if (tree.kind(node) === 'array') return array(tree.elements(node).map(one => this.close(one)))
    if (tree.kind(node) !== 'object') return tree.source(node)
    const isObject = this.#isObject(node)
    const members: string[] = []
    tree.members(node, (name, value) => {
      if (!isObject || name !== 'additionalProperties') members.push(`${literal(name)}:${this.#member(name, value)}`)
      else if (tree.boolean(value) !== false) this.changed = true
    })
    if (isObject) members.push('"additionalProperties":false')
    return `{${members.join(',')}}`
  }

  /** Parts of `allOf` stay open, because each of them sees only its own properties. */
  #member(name: string, value: Node): Source {
    const tree = this.#tree
    if (name === 'items' || LISTS.has(name)) return this.close(value)
    if (!NAMED.has(name)) return tree.source(value)
    const named: string[] = []
    tree.members(value, (key, one) => {
      named.push(`${literal(key)}:${this.close(one)}`)
    })
    return `{${named.join(',')}}`
  }

  #isObject(node: Node): boolean {
    const tree = this.#tree
    const type = tree.get(node, 'type')
    if (tree.absent(type)) return tree.kind(tree.get(node, 'properties')) === 'object'
    return tree.string(type) === 'object' || tree.elements(type).some(one => tree.string(one) === 'object')
  }
}
