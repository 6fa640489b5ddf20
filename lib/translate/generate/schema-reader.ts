/** Schemas in the form that came before JSON Schema, with types in capitals, `nullable`, and numbers in strings, as JSON Schema. */
import { literal, type Source } from '../json/literal.ts'
import { type Node, Tree } from '../json/tree.ts'
import { array, object, typed } from '../json/write.ts'
import { numberText } from './members.ts'

/** What is deeper is any value. */
const LEVELS = 64
const LEFT_OUT = new Set(['nullable', 'example', 'propertyOrdering', 'property_ordering'])
const SPELLINGS: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  one_of: 'oneOf',
  all_of: 'allOf',
  prefix_items: 'prefixItems',
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
  additional_properties: 'additionalProperties',
  defs: '$defs',
  ref: '$ref',
}
const NUMBERS = /^(?:min|max)(?:Items|Length|Properties|imum)$/
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NAMED = new Set(['properties', '$defs', 'definitions'])
const ONE = new Set(['items', 'additionalProperties', 'not'])

/**
 * A schema where JSON Schema is expected. Gemini CLI writes the older form there, too, which is known by the capitals of its type; other
 * upstreams refuse such types. What is JSON Schema stays as it is.
 */
export function jsonSchemaSource(tree: Tree, node: Node, isTop = false): Source {
  const type = tree.string(tree.get(node, 'type')) ?? ''
  return type === type.toLowerCase() ? tree.source(node) : schemaSource(tree.source(node), isTop)
}

/** `isTop`: it stands for the arguments of a call, which are never null. */
export function schemaSource(source: Source, isTop = false): Source {
  const tree = new Tree(LEVELS)
  return tree.read(source) ? read(tree, tree.root, isTop) : '{}'
}

function read(tree: Tree, node: Node, isTop = false): Source {
  if (tree.kind(node) !== 'object') return tree.source(node)
  const members: string[] = []
  const isNumber = /^(?:integer|number)$/i.test(tree.string(tree.get(node, 'type')) ?? '')
  tree.members(node, (name, value) => {
    if (LEFT_OUT.has(name)) return
    const own = Object.hasOwn(SPELLINGS, name) ? (SPELLINGS[name] as string) : name
    const told = toldOf(tree, own, value, isNumber)
    if (told !== null) members.push(`${literal(own)}:${told}`)
  })
  const schema = `{${members.join(',')}}`
  const mayBeNull = !isTop && tree.boolean(tree.get(node, 'nullable')) === true
  return mayBeNull ? object({ anyOf: array([schema, typed('null', {})]) }) : schema
}

function toldOf(tree: Tree, name: string, value: Node, isNumber: boolean): Source | null {
  if (name === 'type') return typeOf(tree, value)
  if (NUMBERS.test(name)) return numberText(tree, value)
  if (name === 'enum' && isNumber)
    return array(tree.elements(value).map(one => numberText(tree, one) ?? tree.source(one)))
  if (ONE.has(name)) return read(tree, value)
  if (LISTS.has(name)) return array(tree.elements(value).map(one => read(tree, one)))
  if (!NAMED.has(name)) return tree.source(value)
  const named: string[] = []
  tree.members(value, (key, one) => {
    named.push(`${literal(key)}:${read(tree, one)}`)
  })
  return `{${named.join(',')}}`
}

function typeOf(tree: Tree, node: Node): Source | null {
  if (tree.kind(node) === 'array')
    return array(tree.elements(node).map(one => literal((tree.string(one) ?? '').toLowerCase())))
  const type = tree.string(node)?.toLowerCase() ?? 'type_unspecified'
  return type === 'type_unspecified' ? null : literal(type)
}
