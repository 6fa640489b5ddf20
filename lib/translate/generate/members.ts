/** The members of generate-content have two spellings, `inlineData` and `inline_data`, and upstreams take both. */
import { EMPTY_TEXT, type Literal, type JsonText } from '../json/literal.ts'
import { NONE, type Node, type Tree } from '../json/tree.ts'
import { issuerOf, seal64 } from '../opaque.ts'
import type { TranslationTarget } from '../ask.ts'
import type { MemberReaders } from '../request-reader.ts'

const UPPER = /[A-Z]/g
const SPELLINGS = new Map<string, string>()

/** `inlineData` → `inline_data`. Only names of ours come here. */
function snake(name: string): string {
  let other = SPELLINGS.get(name)
  if (other === undefined) SPELLINGS.set(name, (other = name.replace(UPPER, letter => `_${letter.toLowerCase()}`)))
  return other
}

/** The readers of members, each under both spellings of its name. */
export const spelled = (members: MemberReaders): MemberReaders => ({
  ...members,
  ...Object.fromEntries(Object.entries(members).map(([name, member]) => [snake(name), member])),
})

export function get(tree: Tree, node: Node, name: string): Node {
  const found = tree.get(node, name)
  const other = found === NONE ? snake(name) : name
  return other === name ? found : tree.get(node, other)
}

export const stringAt = (tree: Tree, node: Node, name: string): string | null => tree.string(get(tree, node, name))
export const literalAt = (tree: Tree, node: Node, name: string): Literal | null => tree.literal(get(tree, node, name))

/** A number, which may stand in a string; null = it is none. */
export function numberOf(tree: Tree, node: Node): number | null {
  const text = numberText(tree, node)
  return text === null ? null : Number(text)
}

const NUMBER = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?$/

/** The text of a number as it was written, which may stand in a string; null = it is none. */
export function numberText(tree: Tree, node: Node): JsonText | null {
  if (tree.number(node) !== null) return tree.source(node)
  const text = tree.string(node)
  return text !== null && NUMBER.test(text) ? text : null
}

// --- state of models that want some with every call

/** Stands where a call has no state, because it was made by another model. Its provider documents it. */
export const NO_STATE: Literal = '"skip_thought_signature_validator"'

/** Stands at a call of which the upstream had no state, so that the call can be told from one of a model that has some. */
export const EMPTY_STATE: Literal = seal64({ issuer: issuerOf('', ''), of: 'call', value: EMPTY_TEXT })

const THIRD = /gemini-(?:[3-9]|\d\d)/

/** The third generation and later: calls have state, results may have media, and thinking has levels. */
export const isThird = ({ thinking, model }: Pick<TranslationTarget, 'thinking' | 'model'>): boolean =>
  thinking === 'level' || THIRD.test(model)
