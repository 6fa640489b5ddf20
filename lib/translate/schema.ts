/**
 * Schemas of tools for protocols that want an object at the top. Models are offered whatever tools people have connected,
 * and one schema that is refused would end the whole conversation.
 */
import { type JsonText, array, literal, object } from './json/literal.ts'
import { type Node, Tree } from './json/tree.ts'

const NOTHING: JsonText = '{"type":"object","properties":{}}'
const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const
/** The most alternatives at the top of a schema that are put together. */
const MOST_BRANCHES = 64
const LONGEST = 1024 * 1024

/** The schema with an object at its top. `changed`: what it allows is not quite the same. */
export function objectSchema(schema: JsonText | null): { schema: JsonText; changed: boolean } {
  if (schema === null) return { schema: NOTHING, changed: false }
  const tree = new Tree(6)
  if (schema.length > LONGEST || !tree.read(schema)) return { schema: NOTHING, changed: true }
  const unions = UNIONS.filter(name => tree.kind(tree.root, name) === 'array')
  const isObject = tree.string(tree.root, 'type') === 'object'
  if (unions.length === 0 && isObject) return { schema, changed: false }
  if (unions.length === 0) return { schema: withType(tree), changed: !tree.absent(tree.root, 'type') }
  return { schema: merged(tree, unions), changed: true }
}

function withType(tree: Tree): JsonText {
  const others = tree.rewritten(tree.root, (name, node) => (name === 'type' ? null : tree.source(node)))
  return `{"type":"object"${others === '{}' ? '' : ','}${others.slice(1)}`
}

/** Offers the properties of all alternatives, and requires those that all of them require. */
function merged(tree: Tree, unions: readonly string[]): JsonText {
  const properties = new Map<string, JsonText>()
  const branches: Node[] = []
  let required: Set<string> | null = null
  const collect = (node: Node): void =>
    tree.members(tree.get(node, 'properties'), (name, value) => {
      if (!properties.has(name)) properties.set(name, tree.source(value))
    })
  collect(tree.root)
  const always = new Set(requiredOf(tree, tree.root))
  for (const union of unions) {
    const parts = tree.elements(tree.root, union).slice(0, MOST_BRANCHES)
    for (const part of parts) {
      collect(part)
      const own = requiredOf(tree, part)
      if (union === 'allOf') for (const name of own) always.add(name)
      else {
        branches.push(part)
        required = required === null ? new Set(own) : required.intersection(new Set(own))
      }
    }
  }
  const names = [...new Set([...always, ...(required ?? [])])].filter(name => properties.has(name))
  const kept: Record<string, JsonText> = {}
  tree.members(tree.root, (name, node) => {
    if (/^(?:\$defs|definitions|description|title|additionalProperties)$/.test(name)) kept[name] = tree.source(node)
  })
  return object({
    type: '"object"',
    properties: `{${[...properties].map(([name, value]) => `${literal(name)}:${value}`).join(',')}}`,
    ...(names.length === 0 ? {} : { required: array(names.map(literal)) }),
    ...kept,
  })
}

const requiredOf = (tree: Tree, node: Node): string[] =>
  tree
    .elements(tree.get(node, 'required'))
    .map(element => tree.string(element))
    .filter(name => name !== null)

// --- schemas of answers for messages, where an object must say that it has no other properties; tools' schemas may be open

/** What is deeper stays as it is. */
const LEVELS = 64
const NAMED = new Set(['properties', '$defs', 'definitions'])
const LISTS = new Set(['anyOf', 'oneOf', 'prefixItems'])

/** `changed`: the client allowed other properties by name. */
export function closedSchema(schema: JsonText): { schema: JsonText; changed: boolean } {
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

  close(node: Node): JsonText {
    const tree = this.#tree
    if (tree.kind(node) === 'array') return array(tree.elements(node).map(one => this.close(one)))
    if (tree.kind(node) !== 'object') return tree.source(node)
    const isObject = this.#isObject(node)
    const closed = tree.rewritten(node, (name, value) => {
      if (!isObject || name !== 'additionalProperties') return this.#member(name, value)
      if (tree.boolean(value) !== false) this.changed = true
      return null
    })
    return isObject ? `${closed.slice(0, -1)}${closed === '{}' ? '' : ','}"additionalProperties":false}` : closed
  }

  /** Parts of `allOf` stay open, because each of them sees only its own properties. */
  #member(name: string, value: Node): JsonText {
    const tree = this.#tree
    if (name === 'items' || LISTS.has(name)) return this.close(value)
    return NAMED.has(name) ? tree.rewritten(value, (_, one) => this.close(one)) : tree.source(value)
  }

  #isObject(node: Node): boolean {
    const tree = this.#tree
    const type = tree.get(node, 'type')
    if (tree.absent(type)) return tree.kind(node, 'properties') === 'object'
    return tree.string(type) === 'object' || tree.elements(type).some(one => tree.string(one) === 'object')
  }
}
