/** The words of a schema that have no schemas in them, as upstreams of generate-content know them. */
import { type Literal, literal, type Source } from '../json/literal.ts'
import { NONE } from '../json/tree.ts'
import { array } from '../json/write.ts'
import type { Merged } from './schema-merge.ts'
import type { SchemaSource } from './schema-source.ts'

type Words = Merged['words']

const TEXTS = ['title', 'description', 'format'] as const

export function textsOf(source: SchemaSource, words: Words): Record<string, Source> {
  const texts: Record<string, Source> = {}
  for (const name of TEXTS) {
    const text = source.tree.literal(words.get(name) ?? NONE)
    if (text !== null) texts[name] = source.copy(text)
  }
  return texts
}

/** One type or several. */
export function typesOf(source: SchemaSource, words: Words): string[] {
  const node = words.get('type') ?? NONE
  const all = source.tree.kind(node) === 'array' ? source.elements(node) : [node]
  const types = all.map(one => source.tree.string(one)).filter(type => type !== null && /^[a-z]+$/.test(type))
  return [...new Set(types as string[])]
}

/** Values may be texts and numbers only. */
export function valuesOf(source: SchemaSource, words: Words): { enum?: Source } {
  const { tree } = source
  const constant = words.get('const')
  const all = constant === undefined ? source.elements(words.get('enum')) : [constant]
  const known = all.filter(one => tree.literal(one) !== null || tree.number(one) !== null)
  return known.length === 0 ? {} : { enum: source.copy(array(known.map(one => tree.source(one)))) }
}

export function boundsOf(source: SchemaSource, words: Words): Record<string, Source> {
  const bounds: Record<string, Source> = {}
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
export function orderOf(source: SchemaSource, { words, properties }: Merged): Literal[] {
  const names = source.elements(words.get('propertyOrdering')).map(one => source.tree.string(one))
  return names.filter(name => name !== null && properties.has(name)).map(name => source.copy(literal(name as string)))
}
