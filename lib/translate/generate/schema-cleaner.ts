/**
 * Schemas for upstreams of generate-content, which take a part of JSON Schema and refuse a request for every other word in it. What
 * they know is copied as it stands; the rest is said with what they know, or left out. References stay references, so that schemas
 * cannot grow by them; those that other words stand beside are put in their place, up to a depth and a size.
 */
import { type Literal, literal, type Source } from '../json/literal.ts'
import { NONE, type Node, Tree } from '../json/tree.ts'
import { array, object, typed } from '../json/write.ts'
import { Untranslatable } from '../loss.ts'

const MOST_LEVELS = 64
/** How deep references are put in their place. */
const MOST_INLINED = 8
const LONGEST = 1024 * 1024
const LEAST_LIMIT = 4096
const TIMES_SOURCE = 4
const SCHEMA_BYTES = 24

const TEXTS = ['title', 'description', 'format'] as const
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
const DEFINED = /^#\/(\$defs|definitions)\/([^/]+)$/

/** What several schemas that all hold say together: of words that are said twice the first counts. */
interface Merged {
  words: Map<string, Node>
  properties: Map<string, Node[]>
  required: Set<string>
  refs: string[]
}

/** Throws `Untranslatable` with `field` when the schema would become too large. */
export const cleaned = (schema: Source, field: string): Source => new Cleaner(schema, field).clean()

class Cleaner {
  readonly #tree = new Tree(MOST_LEVELS)
  readonly #field: string
  readonly #source: Source
  #left: number
  /** Definitions that are referred to. */
  readonly #used = new Set<string>()

  constructor(source: Source, field: string) {
    this.#source = source
    this.#field = field
    this.#left = Math.min(LONGEST, Math.max(LEAST_LIMIT, source.length * TIMES_SOURCE))
  }

  clean(): Source {
    const tree = this.#tree
    if (this.#source.length > LONGEST || !tree.read(this.#source)) throw new Untranslatable(this.#field)
    const schema = this.#schema([tree.root], 0, 0)
    const defs: string[] = []
    for (const name of this.#used) defs.push(`${literal(name)}:${this.#schema([this.#definition(name)], 1, 0)}`)
    if (defs.length === 0) return schema
    return `${schema.slice(0, -1)}${schema === '{}' ? '' : ','}"$defs":{${defs.join(',')}}}`
  }

  #spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new Untranslatable(this.#field)
  }

  #copy(source: Source): Source {
    this.#spend(source.length)
    return source
  }

  #definition(name: string): Node {
    const own = this.#tree.get(this.#tree.get(this.#tree.root, '$defs'), name)
    return own === NONE ? this.#tree.get(this.#tree.get(this.#tree.root, 'definitions'), name) : own
  }

  #schema(nodes: readonly Node[], depth: number, inlined: number): Source {
    this.#spend(SCHEMA_BYTES)
    if (depth > MOST_LEVELS) return '{}'
    const found: Merged = { words: new Map(), properties: new Map(), required: new Set(), refs: [] }
    this.#merge(found, nodes)
    let times = inlined
    let kept: string | null = null
    while (found.refs.length > 0 && kept === null) {
      const name = this.#defined(found.refs[0] as string)
      const isAlone = found.refs.length === 1 && found.properties.size === 0 && found.required.size === 0
      const others = [...found.words.keys()].some(word => !ANNOTATIONS.has(word))
      if (name !== null && ((isAlone && !others) || times >= MOST_INLINED)) kept = name
      else {
        const targets = found.refs.map(ref => this.#target(ref)).filter(node => node !== NONE)
        found.refs = []
        if (++times <= MOST_INLINED) this.#merge(found, targets)
      }
    }
    return kept === null ? this.#written(found, depth, times) : this.#reference(found, kept)
  }

  /** No word may stand beside a reference, so that what is said of it stands around it. */
  #reference({ words }: Merged, name: string): Source {
    this.#used.add(name)
    const ref = object({ $ref: this.#copy(literal(`#/$defs/${name}`)) })
    const texts = this.#texts(words)
    return Object.keys(texts).length === 0 ? ref : object({ ...texts, anyOf: array([ref]) })
  }

  /** The name of a definition at the top; null = it refers to something else. */
  #defined(ref: string): string | null {
    const name = DEFINED.exec(ref)?.[2]
    if (name === undefined) return null
    const plain = unescapedName(name)
    return this.#definition(plain) === NONE ? null : plain
  }

  #target(ref: string): Node {
    const name = this.#defined(ref)
    if (name !== null) return this.#definition(name)
    if (!ref.startsWith('#/')) return NONE
    let node = this.#tree.root
    for (const step of ref.slice(2).split('/').slice(0, MOST_LEVELS)) {
      const isList = this.#tree.kind(node) === 'array'
      node = isList ? (this.#tree.elements(node)[Number(step)] ?? NONE) : this.#tree.get(node, unescapedName(step))
    }
    return node
  }

  #merge(found: Merged, schemas: readonly Node[]): void {
    const tree = this.#tree
    const nodes = [...schemas]
    for (let node = nodes.shift(); node !== undefined; node = nodes.shift())
      tree.members(node, (name, value) => {
        this.#spend(2)
        if (name === 'allOf') nodes.push(...tree.elements(value))
        else if (name === '$ref') found.refs.push(tree.string(value) ?? '')
        else if (name === 'required') for (const one of tree.elements(value)) found.required.add(tree.string(one) ?? '')
        else if (name === 'properties')
          tree.members(value, (key, one) => {
            const same = found.properties.get(key)
            if (same === undefined) found.properties.set(key, [one])
            else same.push(one)
          })
        else if (!found.words.has(name)) found.words.set(name, value)
      })
  }

  #texts(words: Merged['words']): Record<string, Source> {
    const texts: Record<string, Source> = {}
    for (const name of TEXTS) {
      const text = this.#tree.literal(words.get(name) ?? NONE)
      if (text !== null) texts[name] = this.#copy(text)
    }
    return texts
  }

  #written(found: Merged, depth: number, inlined: number): Source {
    const { words } = found
    const inside = (node: Node): Source => this.#schema([node], depth + 1, inlined)
    const types = this.#types(words)
    const { title, description, format } = this.#texts(words)
    const rest: Record<string, Source | undefined> = {
      format,
      ...this.#values(words),
      ...this.#bounds(words),
      ...this.#elements(words, types, inside),
      ...this.#properties(found, depth, inlined),
    }
    const unions = {
      anyOf: this.#list(words.get('anyOf'), inside),
      oneOf: this.#list(words.get('oneOf'), inside),
    }
    const isUnion = unions.anyOf !== undefined || unions.oneOf !== undefined
    if (types.length < 2 || isUnion)
      return object({
        type: types.length === 1 ? literal(types[0] as string) : undefined,
        title,
        description,
        ...rest,
        ...unions,
      })
    const branches = types.map(type => {
      const own = (OF_TYPE[type] ?? []).map(name => [name, rest[name]] as const)
      return typed(type, Object.fromEntries(own))
    })
    return object({ title, description, anyOf: array(branches) })
  }

  #types(words: Merged['words']): string[] {
    const node = words.get('type') ?? NONE
    const all = this.#tree.kind(node) === 'array' ? this.#tree.elements(node) : [node]
    const types = all.map(one => this.#tree.string(one)).filter(type => type !== null && /^[a-z]+$/.test(type))
    return [...new Set(types as string[])]
  }

  #list(node: Node | undefined, inside: (node: Node) => Source): Source | undefined {
    const all = this.#tree.elements(node ?? NONE)
    return all.length === 0 ? undefined : array(all.map(inside))
  }

  /** Values may be texts and numbers only. */
  #values(words: Merged['words']): { enum?: Source } {
    const constant = words.get('const')
    const all = constant === undefined ? this.#tree.elements(words.get('enum') ?? NONE) : [constant]
    const known = all.filter(one => this.#tree.literal(one) !== null || this.#tree.number(one) !== null)
    return known.length === 0 ? {} : { enum: this.#copy(array(known.map(one => this.#tree.source(one)))) }
  }

  #bounds(words: Merged['words']): Record<string, Source> {
    const bounds: Record<string, Source> = {}
    const put = (name: string, from: string): void => {
      const node = words.get(from) ?? NONE
      if (bounds[name] === undefined && this.#tree.number(node) !== null)
        bounds[name] = this.#copy(this.#tree.source(node))
    }
    for (const name of ['minimum', 'maximum', 'minItems', 'maxItems']) put(name, name)
    put('minimum', 'exclusiveMinimum')
    put('maximum', 'exclusiveMaximum')
    return bounds
  }

  /** An array must say of what. */
  #elements(
    words: Merged['words'],
    types: readonly string[],
    inside: (node: Node) => Source,
  ): Record<string, Source | undefined> {
    const items = words.get('items') ?? NONE
    const tuple = this.#tree.kind(items) === 'array' ? items : words.get('prefixItems')
    const prefixItems = this.#list(tuple, inside)
    if (this.#tree.kind(items) === 'object') return { prefixItems, items: inside(items) }
    return { prefixItems, items: types.includes('array') && prefixItems === undefined ? '{}' : undefined }
  }

  #properties(
    { words, properties, required }: Merged,
    depth: number,
    inlined: number,
  ): Record<string, Source | undefined> {
    const members = [...properties].map(
      ([name, nodes]) => `${this.#copy(literal(name))}:${this.#schema(nodes, depth + 1, inlined)}`,
    )
    const names = [...required].filter(name => properties.has(name)).map(name => this.#copy(literal(name)))
    const others = words.get('additionalProperties') ?? NONE
    const isSaid = this.#tree.boolean(others) !== null
    const isSchema = this.#tree.kind(others) === 'object'
    const order = this.#order(words, properties)
    return {
      properties: members.length === 0 ? undefined : `{${members.join(',')}}`,
      required: names.length === 0 ? undefined : array(names),
      additionalProperties: isSchema
        ? this.#schema([others], depth + 1, inlined)
        : isSaid
          ? this.#tree.source(others)
          : undefined,
      propertyOrdering: order.length === 0 ? undefined : array(order),
    }
  }

  #order(words: Merged['words'], properties: Merged['properties']): Literal[] {
    const names = this.#tree.elements(words.get('propertyOrdering') ?? NONE).map(one => this.#tree.string(one))
    return names.filter(name => name !== null && properties.has(name)).map(name => this.#copy(literal(name as string)))
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
