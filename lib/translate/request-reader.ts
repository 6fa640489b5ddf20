/** What readers of requests share: a body as a tree, a table of its members, and those that all of them know. */
import { type Effort, EFFORTS } from '../terms/records.ts'
import type { Ask, AskHead, CacheLife, Choice, FunctionTool, MediaPart, TextPart } from './ask.ts'
import { type LossWord, Untranslatable } from './events.ts'
import type { JsonText } from './json/literal.ts'
import { ManyValues, ShortBody } from './json/short-body.ts'
import { type Node, Tree } from './json/tree.ts'

/** Reads a member of the body that is neither missing nor null. */
export type MemberReader = (ask: Ask, tree: Tree, node: Node, name: string) => void
export type MemberReaders = Readonly<Record<string, MemberReader>>

export function treeOfBody(body: Buffer | ShortBody, { mostValues = Number.POSITIVE_INFINITY }: AskHead): Tree {
  const tree = new Tree()
  const short = shortOf(body)
  const isRead = tree.read(body instanceof ShortBody ? body.text : body.toString('latin1'), mostValues)
  if (tree.values > mostValues) throw new ManyValues()
  if (!isRead || tree.kind(tree.root) !== 'object' || short?.isValid === false) throw new Untranslatable('body')
  if (short !== null) tree.whole = text => short.whole(text)
  return tree
}

const shortOf = (body: Buffer | ShortBody): ShortBody | null =>
  body instanceof ShortBody && body.isShort ? body : null

export const emptyAsk = ({ model, stream }: AskHead, short: ShortBody | null = null): Ask => ({
  short,
  model,
  stream,
  system: [],
  systemMedia: [],
  turns: [],
  tools: [],
  search: null,
  choice: { type: 'unset' },
  parallel: null,
  maxOutput: null,
  stop: [],
  many: null,
  logprobs: null,
  prefill: null,
  sampling: {},
  thinking: { mode: 'unset', effort: null, budget: null, show: null },
  format: { type: 'text' },
  cacheKey: null,
  user: null,
  tier: null,
  cache: null,
  losses: new Set(),
})

/** The ask of a body whose members these readers know. */
export function askOf(body: Buffer | ShortBody, tree: Tree, head: AskHead, readers: MemberReaders): Ask {
  const ask = emptyAsk(head, shortOf(body))
  readMembers(ask, tree, readers)
  if (ask.search !== null && head.searches !== true) {
    ask.search = null
    ask.losses.add('hosted_tools')
    if (ask.choice.type === 'search') ask.choice = { type: 'unset' }
  }
  return ask
}

/** Reads all members of the body, or of an object in it. One that no table knows is a loss without a name. */
export function readMembers(ask: Ask, tree: Tree, readers: MemberReaders, object = tree.root): void {
  const found = new Map<string, Node>()
  tree.members(object, (name, node) => {
    if (Object.hasOwn(readers, name))
      found.set(name, node) // of several with the same name the last one counts
    else if (!tree.absent(node)) ask.losses.add('other')
  })
  for (const [name, node] of found) if (!tree.absent(node)) (readers[name] as MemberReader)(ask, tree, node, name)
}

// --- members that change nothing of the answer, or that nobody else can say

/** The member changes nothing of the answer, or stands elsewhere. */
export const ignore: MemberReader = () => {}

export const refuseMember: MemberReader = (_ask, _tree, _node, name) => {
  throw new Untranslatable(name)
}

/** An empty list asks for nothing. */
export const refuseFilled: MemberReader = (_ask, tree, node, name) => {
  if (tree.elements(node).length > 0) throw new Untranslatable(name)
}

/** Answers that are fetched later: what may be named only to say no. */
export const onlyFalse: MemberReader = (_ask, tree, node, name) => {
  if (tree.boolean(node) === true || (tree.number(node) ?? 0) > 0) throw new Untranslatable(name)
}

/** The member cannot be said elsewhere, and the answer is the same without it. An empty or false value says nothing. */
export const drop =
  (word: LossWord): MemberReader =>
  (ask, tree, node) => {
    if (!/^(?:false|0|0\.0|\{\s*\}|\[\s*\]|"")$/.test(tree.source(node))) ask.losses.add(word)
  }

// --- members that are much the same everywhere

export const string =
  (name: 'cacheKey' | 'user' | 'tier'): MemberReader =>
  (ask, tree, node) => {
    ask[name] = tree.string(node) ?? ask[name]
  }

export const parallel: MemberReader = (ask, tree, node) => {
  ask.parallel = tree.boolean(node)
}

export const stop: MemberReader = (ask, tree, node) => {
  for (const text of tree.elements(node).map(one => tree.literal(one))) if (text !== null) ask.stop.push(text)
}

const numberSource = (tree: Tree, node: Node): JsonText | null =>
  tree.number(node) === null ? null : tree.source(node)

/** `sourceOf`: the text of a number, as it stands; null = it is none. */
export const sampling =
  (name: keyof Ask['sampling'], sourceOf = numberSource): MemberReader =>
  (ask, tree, node) => {
    const source = sourceOf(tree, node)
    if (source !== null) ask.sampling[name] = source
  }

export const maxOutput =
  (path = '', sourceOf = numberSource): MemberReader =>
  (ask, tree, node, name) => {
    const value = Number(sourceOf(tree, node) ?? Number.NaN)
    if (!(value >= 1) || !Number.isInteger(value)) throw new Untranslatable(path + name)
    ask.maxOutput = value
  }

const MOST_ANSWERS = 8

/** How many answers are wanted. */
export const manyAnswers =
  (path = '', numberOf = (tree: Tree, node: Node) => tree.number(node)): MemberReader =>
  (ask, tree, node, name) => {
    const count = numberOf(tree, node) ?? 0
    const field = path + name
    if (!Number.isInteger(count) || count < 1 || count > MOST_ANSWERS) throw new Untranslatable(field)
    ask.many = count === 1 ? null : { count, field }
  }

/** How likely the tokens were. */
export const logprobs =
  (path = ''): MemberReader =>
  (ask, tree, node, name) => {
    if (tree.boolean(node) === null) throw new Untranslatable(path + name)
    if (tree.boolean(node) === true) ask.logprobs = { top: 0, ...ask.logprobs, field: path + name }
  }

const MOST_ALTERNATIVES = 20

/** How many alternatives each token shall have, which says also that they are wanted. */
export const topLogprobs =
  (path = '', numberOf = (tree: Tree, node: Node) => tree.number(node)): MemberReader =>
  (ask, tree, node, name) => {
    const top = numberOf(tree, node) ?? -1
    const field = path + name
    if (!Number.isInteger(top) || top < 0 || top > MOST_ALTERNATIVES) throw new Untranslatable(field)
    if (top > 0) ask.logprobs = { field, ...ask.logprobs, top }
  }

/** The conversation ends with the assistant's words, which the answer shall go on with. Calls without a result are none. */
export function endsOpen({ turns }: Ask): boolean {
  const last = turns.at(-1)
  return last?.role === 'assistant' && last.parts.every(({ type }) => type === 'text' || type === 'thought')
}

export const effortNamed = (text: string | null): Effort | null =>
  (EFFORTS as readonly string[]).includes(text ?? '') ? (text as Effort) : null

/** The effort in a word that may also be `none`. */
export function setEffort({ thinking }: Ask, word: string | null): void {
  thinking.effort = effortNamed(word)
  if (word === 'none') thinking.mode = 'off'
  else if (thinking.effort !== null) thinking.mode = 'on'
}

/** The mark `cache_control` of a part. */
export function cacheOf(tree: Tree, node: Node): { cache?: CacheLife } {
  const mark = tree.get(node, 'cache_control')
  if (tree.kind(mark) !== 'object') return {}
  return { cache: tree.string(mark, 'ttl') === '1h' ? '1h' : '5m' }
}

// --- tools

/** `schema`: the member that has it. null = the tool has no name. */
export function functionTool(tree: Tree, node: Node, schema: 'parameters' | 'input_schema'): FunctionTool | null {
  const name = tree.string(node, 'name')
  if (name === null) return null
  return {
    type: 'function',
    name,
    description: tree.literal(node, 'description'),
    schema: tree.kind(node, schema) === 'object' ? tree.source(node, schema) : null,
    strict: tree.boolean(node, 'strict'),
  }
}

/** The choice that is one word; null = it is another. `any`: the word for any tool. */
export const choiceNamed = (word: string | null, any: 'any' | 'required'): Choice | null =>
  word === 'auto' || word === 'none' ? { type: word } : word === any ? { type: 'any' } : null

/** Drops all but the first of several tools with the same name. */
export function dropDoubles(ask: Ask): void {
  const seen = new Set<string>()
  ask.tools = ask.tools.filter(({ name, namespace = '' }) => {
    const key = `${namespace}\0${name}`
    return !seen.has(key) && seen.add(key)
  })
}

/**
 * When all tools are known: one that is not there cannot be called, and what was to be forced is not what would be answered.
 * `field`: the member that says which tool is to be called.
 */
export function checkChoice({ choice, tools }: Ask, field = 'tool_choice'): void {
  if (choice.type === 'any' && tools.length === 0) throw new Untranslatable(field)
  if (choice.type === 'one' && !tools.some(({ name }) => name === choice.name)) throw new Untranslatable(field)
}

/** The same of a choice among some, which may all be gone. */
export function checkSome(ask: Ask, field = 'tool_choice'): void {
  const { choice, tools } = ask
  if (choice.type !== 'some') return
  const names = new Set(choice.names)
  if (tools.some(({ name }) => names.has(name))) return
  if (choice.must) throw new Untranslatable(field)
  ask.choice = { type: 'none' }
}

// --- the conversation

export function addSystem(ask: Ask, parts: readonly (TextPart | MediaPart)[]): void {
  for (const part of parts) {
    if (part.type === 'text') ask.system.push(part)
    else ask.systemMedia.push(part)
  }
}

/** Reads parts of a body into an ask. */
export abstract class PartReader {
  protected readonly ask: Ask
  protected readonly tree: Tree

  constructor(ask: Ask, tree: Tree) {
    this.ask = ask
    this.tree = tree
  }
}
