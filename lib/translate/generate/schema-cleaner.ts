/**
 * Schemas for upstreams of generate-content, which take a part of JSON Schema and refuse a request for every other word in it. What
 * they know is copied as it stands; the rest is said with what they know, or left out. References stay references, so that schemas
 * cannot grow by them; those that other words stand beside are put in their place, up to a depth and a size.
 */
import { literal, type Source } from '../json/literal.ts'
import { NONE, type Node } from '../json/tree.ts'
import { array, object, typed } from '../json/write.ts'
import { type Merged, merge, nothing } from './schema-merge.ts'
import { MOST_LEVELS, SchemaSource } from './schema-source.ts'
import { boundsOf, orderOf, textsOf, typesOf, valuesOf } from './schema-words.ts'

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

type Parts = Record<string, Source | undefined>

/** Throws `Untranslatable` with `field` when the schema would become too large. */
export const cleaned = (schema: Source, field: string): Source => new Cleaner(new SchemaSource(schema, field)).clean()

class Cleaner {
  readonly #source: SchemaSource
  /** Definitions that are referred to. */
  readonly #used = new Set<string>()

  constructor(source: SchemaSource) {
    this.#source = source
  }

  clean(): Source {
    const schema = this.#schema([this.#source.tree.root], 0, 0)
    const defs: string[] = []
    for (const name of this.#used) defs.push(`${literal(name)}:${this.#schema([this.#source.definition(name)], 1, 0)}`)
    if (defs.length === 0) return schema
    return `${schema.slice(0, -1)}${schema === '{}' ? '' : ','}"$defs":{${defs.join(',')}}}`
  }

  #schema(nodes: readonly Node[], depth: number, inlined: number): Source {
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
  #reference({ words }: Merged, name: string): Source {
    this.#used.add(name)
    const ref = object({ $ref: this.#source.copy(literal(`#/$defs/${name}`)) })
    const texts = textsOf(this.#source, words)
    return Object.keys(texts).length === 0 ? ref : object({ ...texts, anyOf: array([ref]) })
  }

  #written(found: Merged, depth: number, inlined: number): Source {
    const source = this.#source
    const { words } = found
    const inside = (node: Node): Source => this.#schema([node], depth + 1, inlined)
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

  #list(node: Node | undefined, inside: (node: Node) => Source): Source | undefined {
    const all = this.#source.elements(node)
    return all.length === 0 ? undefined : array(all.map(inside))
  }

  /** An array must say of what. */
  #elements(words: Merged['words'], types: readonly string[], inside: (node: Node) => Source): Parts {
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
