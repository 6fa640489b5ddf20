/** Schemas as upstreams of generate-content take them. Agents send the same tools with every request, so that what was made is kept. */
import { Untranslatable } from '../events.ts'
import { type Literal, type JsonText, array, literal, object, typed } from '../json/literal.ts'
import { NONE, type Node, Tree } from '../json/tree.ts'
import { digest } from '../names.ts'
import { objectSchema } from '../schema.ts'

const MOST_BYTES = 4 * 1024 * 1024
const ENTRY_BYTES = 200

/** By the hash of the source; what was made first goes first. */
const KEPT = new Map<string, JsonText>()
let keptBytes = 0

function cleanedOnce(schema: JsonText, field: string): JsonText {
  const key = digest(schema, 'base64url')
  const kept = KEPT.get(key)
  if (kept !== undefined) return kept
  const made = cleaned(schema, field)
  keptBytes += made.length + ENTRY_BYTES
  KEPT.set(key, made)
  for (const [oldest, source] of KEPT) {
    if (keptBytes <= MOST_BYTES) break
    keptBytes -= source.length + ENTRY_BYTES
    KEPT.delete(oldest)
  }
  return made
}

/** Objects of which nothing is said. */
const NOTHING = /^\{"type":"object"(?:,"additionalProperties":(?:true|false))?\}$/

/** The schema of a tool's arguments. null = it takes nothing. `changed`: what the schema allows is not quite the same. */
export function parametersOf(schema: JsonText | null, name: string): { schema: JsonText | null; changed: boolean } {
  if (schema === null) return { schema: null, changed: false }
  const whole = objectSchema(schema)
  const made = cleanedOnce(whole.schema, `tools.${name.replace(/[^\w.-]/g, '_')}`)
  return { schema: NOTHING.test(made) ? null : made, changed: whole.changed }
}

export const formatOf = (schema: JsonText): JsonText => cleanedOnce(schema, 'format')

/** How deep references are put in their place. */
const MOST_INLINED = 8
const SCHEMA_BYTES = 24

const OBJECTS = ['properties', 'required', 'additionalProperties', 'propertyOrdering'] as const
const ARRAYS = ['items', 'prefixItems', 'minItems', 'maxItems'] as const
const NUMBERS = ['minimum', 'maximum', 'enum', 'format'] as const
/** What belongs to which type, where there are several. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: OBJECTS,
  array: ARRAYS,
  string: ['enum', 'format'],
  number: NUMBERS,
  integer: NUMBERS,
}
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', '$comment', 'deprecated'])

type Parts = Record<string, JsonText | undefined>

/** Throws `Untranslatable` with `field` when the schema would become too large. */
export const cleaned = (schema: JsonText, field: string): JsonText =>
  new Cleaner(new SchemaSource(schema, field)).clean()

/**
 * Schemas for upstreams of generate-content, which take a part of JSON Schema and refuse a request for every other word in it. What
 * they know is copied as it stands; the rest is said with what they know, or left out. References stay references, so that schemas
 * cannot grow by them; those that other words stand beside are put in their place, up to a depth and a size.
 */
class Cleaner {
  readonly #source: SchemaSource
  /** Definitions that are referred to. */
  readonly #used = new Set<string>()

  constructor(source: SchemaSource) {
    this.#source = source
  }

  clean(): JsonText {
    const schema = this.#schema([this.#source.tree.root], 0, 0)
    const defs: string[] = []
    for (const name of this.#used) defs.push(`${literal(name)}:${this.#schema([this.#source.definition(name)], 1, 0)}`)
    if (defs.length === 0) return schema
    return `${schema.slice(0, -1)}${schema === '{}' ? '' : ','}"$defs":{${defs.join(',')}}}`
  }

  #schema(nodes: readonly Node[], depth: number, inlined: number): JsonText {
    const source = this.#source
    source.spend(SCHEMA_BYTES)
    if (depth > MOST_LEVELS) return '{}'
    const found = nothing()
    merge(found, nodes, source)
    let times = inlined
    let kept: string | null = null
    while (found.refs.length > 0 && kept === null) {
      const name = source.defined(found.refs[0] as string)
      const isAlone = found.refs.length === 1 && found.properties.size === 0 && found.required.size === 0
      const others = [...found.words.keys()].some(word => !ANNOTATIONS.has(word))
      if (name !== null && ((isAlone && !others) || times >= MOST_INLINED)) kept = name
      else {
        const targets = found.refs.map(ref => source.target(ref)).filter(node => node !== NONE)
        found.refs = []
        if (++times <= MOST_INLINED) merge(found, targets, source)
      }
    }
    return kept === null ? this.#written(found, depth, times) : this.#reference(found, kept)
  }

  /** No word may stand beside a reference, so that what is said of it stands around it. */
  #reference({ words }: Merged, name: string): JsonText {
    this.#used.add(name)
    const ref = object({ $ref: this.#source.copy(literal(`#/$defs/${name}`)) })
    const texts = textsOf(this.#source, words)
    return Object.keys(texts).length === 0 ? ref : object({ ...texts, anyOf: array([ref]) })
  }

  #written(found: Merged, depth: number, inlined: number): JsonText {
    const source = this.#source
    const { words } = found
    const inside = (node: Node): JsonText => this.#schema([node], depth + 1, inlined)
    const types = typesOf(source, words)
    const { title, description, format } = textsOf(source, words)
    const rest: Parts = {
      format,
      ...valuesOf(source, words),
      ...boundsOf(source, words),
      ...this.#elements(words, types, inside),
      ...this.#properties(found, depth, inlined),
    }
    const unions = {
      anyOf: this.#list(words.get('anyOf'), inside),
      oneOf: this.#list(words.get('oneOf'), inside),
    }
    const isUnion = unions.anyOf !== undefined || unions.oneOf !== undefined
    if (types.length < 2 || isUnion) {
      const type = types.length === 1 ? literal(types[0] as string) : undefined
      return object({ type, title, description, ...rest, ...unions })
    }
    const branches = types.map(type => {
      const own = (OF_TYPE[type] ?? []).map(name => [name, rest[name]] as const)
      return typed(type, Object.fromEntries(own))
    })
    return object({ title, description, anyOf: array(branches) })
  }

  #list(node: Node | undefined, inside: (node: Node) => JsonText): JsonText | undefined {
    const all = this.#source.elements(node)
    return all.length === 0 ? undefined : array(all.map(inside))
  }

  /** An array must say of what. */
  #elements(words: Merged['words'], types: readonly string[], inside: (node: Node) => JsonText): Parts {
    const { tree } = this.#source
    const items = words.get('items') ?? NONE
    const tuple = tree.kind(items) === 'array' ? items : words.get('prefixItems')
    const prefixItems = this.#list(tuple, inside)
    if (tree.kind(items) === 'object') return { prefixItems, items: inside(items) }
    return { prefixItems, items: types.includes('array') && prefixItems === undefined ? '{}' : undefined }
  }

  #properties(found: Merged, depth: number, inlined: number): Parts {
    const source = this.#source
    const { words, properties, required } = found
    const members = [...properties].map(
      ([name, nodes]) => `${source.copy(literal(name))}:${this.#schema(nodes, depth + 1, inlined)}`,
    )
    const names = [...required].filter(name => properties.has(name)).map(name => source.copy(literal(name)))
    const others = words.get('additionalProperties') ?? NONE
    const isSaid = source.tree.boolean(others) !== null
    const isSchema = source.tree.kind(others) === 'object'
    const order = orderOf(source, found)
    return {
      properties: members.length === 0 ? undefined : `{${members.join(',')}}`,
      required: names.length === 0 ? undefined : array(names),
      additionalProperties: isSchema
        ? this.#schema([others], depth + 1, inlined)
        : isSaid
          ? source.tree.source(others)
          : undefined,
      propertyOrdering: order.length === 0 ? undefined : array(order),
    }
  }
}

// --- what several schemas that all hold say together

/** Schemas put together: of words that are said twice the first counts. */
interface Merged {
  words: Map<string, Node>
  properties: Map<string, Node[]>
  required: Set<string>
  refs: string[]
}

const nothing = (): Merged => ({ words: new Map(), properties: new Map(), required: new Set(), refs: [] })

/** Adds schemas, and those that they say must hold with them. */
function merge(found: Merged, schemas: readonly Node[], source: SchemaSource): void {
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

/** What is deeper is any value. */
const MOST_LEVELS = 64
const LONGEST = 1024 * 1024
const LEAST_LIMIT = 4096
const TIMES_SOURCE = 4
const MEMBER_BYTES = 2

const DEFINED = /^#\/(?:\$defs|definitions)\/([^/]+)$/

/**
 * A schema while it is cleaned: its tree, what its references point at, and how much may still be made of it. Every look at a part
 * costs some of that, so that a schema in which everything refers to everything takes no longer than its length allows.
 */
class SchemaSource {
  readonly tree = new Tree(MOST_LEVELS)
  readonly #field: string
  /** Bytes that may still be written. */
  #left: number
  /** The members of objects that references go through, by name. */
  readonly #named = new Map<Node, ReadonlyMap<string, Node>>()
  /** The same of arrays. */
  readonly #listed = new Map<Node, readonly Node[]>()

  /** Throws `Untranslatable` with `field` when the schema is too large, and later when it would become so. */
  constructor(source: JsonText, field: string) {
    this.#field = field
    this.#left = Math.min(LONGEST, Math.max(LEAST_LIMIT, source.length * TIMES_SOURCE))
    if (source.length > LONGEST || !this.tree.read(source)) throw new Untranslatable(field)
  }

  spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new Untranslatable(this.#field)
  }

  copy(source: JsonText): JsonText {
    this.spend(source.length)
    return source
  }

  elements(node: Node | undefined): Node[] {
    const all = this.tree.elements(node ?? NONE)
    this.spend(all.length)
    return all
  }

  members(node: Node, each: (name: string, value: Node) => void): void {
    this.tree.members(node, (name, value) => {
      this.spend(MEMBER_BYTES)
      each(name, value)
    })
  }

  // --- references

  definition(name: string): Node {
    const { tree } = this
    const own = this.#member(tree.get(tree.root, '$defs'), name)
    return own === NONE ? this.#member(tree.get(tree.root, 'definitions'), name) : own
  }

  /** The name of a definition at the top; null = it refers to something else. */
  defined(ref: string): string | null {
    const name = DEFINED.exec(ref)?.[1]
    if (name === undefined) return null
    const plain = unescapedName(name)
    return this.definition(plain) === NONE ? null : plain
  }

  target(ref: string): Node {
    const name = this.defined(ref)
    if (name !== null) return this.definition(name)
    if (!ref.startsWith('#/')) return NONE
    let node = this.tree.root
    for (const step of ref.slice(2).split('/').slice(0, MOST_LEVELS)) {
      const isList = this.tree.kind(node) === 'array'
      node = isList ? this.#element(node, Number(step)) : this.#member(node, unescapedName(step))
    }
    return node
  }

  #member(node: Node, name: string): Node {
    if (this.tree.kind(node) !== 'object') return NONE
    let named = this.#named.get(node)
    if (named === undefined) {
      const found = new Map<string, Node>()
      this.tree.members(node, (own, value) => found.set(own, value))
      this.#named.set(node, (named = found))
    }
    return named.get(name) ?? NONE
  }

  #element(node: Node, at: number): Node {
    let listed = this.#listed.get(node)
    if (listed === undefined) this.#listed.set(node, (listed = this.tree.elements(node)))
    return listed[at] ?? NONE
  }
}

/** A step of a reference: its signs may be escaped in two ways. */
function unescapedName(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  if (!plain.includes('%')) return plain
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

// --- the words of a schema that have no schemas in them, as upstreams of generate-content know them

type Words = Merged['words']

const TEXTS = ['title', 'description', 'format'] as const

function textsOf(source: SchemaSource, words: Words): Record<string, JsonText> {
  const texts: Record<string, JsonText> = {}
  for (const name of TEXTS) {
    const text = source.tree.literal(words.get(name) ?? NONE)
    if (text !== null) texts[name] = source.copy(text)
  }
  return texts
}

/** One type or several. */
function typesOf(source: SchemaSource, words: Words): string[] {
  const node = words.get('type') ?? NONE
  const all = source.tree.kind(node) === 'array' ? source.elements(node) : [node]
  const types = all.map(one => source.tree.string(one)).filter(type => type !== null && /^[a-z]+$/.test(type))
  return [...new Set(types as string[])]
}

/** Values may be texts and numbers only. */
function valuesOf(source: SchemaSource, words: Words): { enum?: JsonText } {
  const { tree } = source
  const constant = words.get('const')
  const all = constant === undefined ? source.elements(words.get('enum')) : [constant]
  const known = all.filter(one => tree.literal(one) !== null || tree.number(one) !== null)
  return known.length === 0 ? {} : { enum: source.copy(array(known.map(one => tree.source(one)))) }
}

function boundsOf(source: SchemaSource, words: Words): Record<string, JsonText> {
  const bounds: Record<string, JsonText> = {}
  const put = (name: string, from: string): void => {
    const node = words.get(from) ?? NONE
    if (bounds[name] === undefined && source.tree.number(node) !== null)
      bounds[name] = source.copy(source.tree.source(node))
  }
  for (const name of ['minimum', 'maximum', 'minItems', 'maxItems']) put(name, name)
  put('minimum', 'exclusiveMinimum')
  put('maximum', 'exclusiveMaximum')
  return bounds
}

/** The order of those properties that there are. */
function orderOf(source: SchemaSource, { words, properties }: Merged): Literal[] {
  const names = source.elements(words.get('propertyOrdering')).map(one => source.tree.string(one))
  return names.filter(name => name !== null && properties.has(name)).map(name => source.copy(literal(name as string)))
}
