/** What readers of requests share: a body as a tree, a table of its members, numbers and marks that all of them know. Writers share a little, too. */
import { bytesAsText } from '../protocols/json/patterns.ts'
import { type Ask, type CacheLife, EFFORTS, type Effort, type Tool, type AskHead } from './ask.ts'
import { type LossWord, ManyValues, Untranslatable } from './events.ts'
import type { Source } from './json/literal.ts'
import { type Node, Tree } from './json/tree.ts'

/** What is done with a member of the body that is neither missing nor null. */
export type Member = (ask: Ask, tree: Tree, node: Node, name: string) => void
export type Members = Readonly<Record<string, Member>>

export const emptyAsk = ({ model, stream }: AskHead): Ask => ({
  model,
  stream,
  system: [],
  turns: [],
  tools: [],
  choice: { type: 'unset' },
  parallel: null,
  maxOutput: null,
  stop: [],
  sampling: {},
  thinking: { mode: 'unset', effort: null, budget: null, show: null },
  format: { type: 'text' },
  cacheKey: null,
  user: null,
  tier: null,
  cache: null,
  losses: new Set(),
})

/** It changes nothing of the answer, or stands elsewhere. */
export const ignore: Member = () => {}

export const refuse: Member = (_ask, _tree, _node, name) => {
  throw new Untranslatable(name)
}

/** More than one answer, chances of tokens, answers that are fetched later: what may be named only to say no. */
export const onlyFalse: Member = (_ask, tree, node, name) => {
  if (tree.boolean(node) === true || (tree.number(node) ?? 0) > 0) throw new Untranslatable(name)
}

export const string =
  (name: 'cacheKey' | 'user' | 'tier'): Member =>
  (ask, tree, node) => {
    ask[name] = tree.string(node) ?? ask[name]
  }

/** It cannot be said elsewhere, and the answer is the same without it. An empty or false value says nothing. */
export const drop =
  (word: LossWord): Member =>
  (ask, tree, node) => {
    if (!/^(?:false|0|0\.0|\{\s*\}|\[\s*\]|"")$/.test(tree.source(node))) ask.losses.add(word)
  }

export function readBody(body: Buffer, { mostValues = Number.POSITIVE_INFINITY }: AskHead): Tree {
  const tree = new Tree()
  const isRead = tree.read(bytesAsText(body), mostValues)
  if (tree.values > mostValues) throw new ManyValues()
  if (!isRead || tree.kind(tree.root) !== 'object') throw new Untranslatable('body')
  return tree
}

/** Reads all members of the body, or of an object in it. One that no table knows is a loss without a name. */
export function readMembers(ask: Ask, tree: Tree, members: Members, object = tree.root): void {
  const found = new Map<string, Node>()
  tree.members(object, (name, node) => {
    if (Object.hasOwn(members, name))
      found.set(name, node) // of several with the same name the last one counts
    else if (!tree.absent(node)) ask.losses.add('other')
  })
  for (const [name, node] of found) if (!tree.absent(node)) (members[name] as Member)(ask, tree, node, name)
}

/** The text of a number, as it stands; undefined = it is none. */
const numberSource = (tree: Tree, node: Node): Source | undefined =>
  tree.number(node) === null ? undefined : tree.source(node)

/** The maximum of the output. */
export const maxOutput: Member = (ask, tree, node, name) => {
  const value = tree.number(node)
  if (value === null || value < 1 || !Number.isInteger(value)) throw new Untranslatable(name)
  ask.maxOutput = value
}

export const sampling =
  (name: keyof Ask['sampling']): Member =>
  (ask, tree, node) => {
    const source = numberSource(tree, node)
    if (source !== undefined) ask.sampling[name] = source
  }

export const effortOf = (text: string | null): Effort | null =>
  (EFFORTS as readonly string[]).includes(text ?? '') ? (text as Effort) : null

/** The mark `cache_control` of a part. */
export function cacheOf(tree: Tree, node: Node): { cache?: CacheLife } {
  const mark = tree.get(node, 'cache_control')
  if (tree.kind(mark) !== 'object') return {}
  return { cache: tree.string(mark, 'ttl') === '1h' ? '1h' : '5m' }
}

/** Where only some tools may be called, the others are not offered. */
export function offeredTools({ tools, choice }: Ask): readonly Tool[] {
  if (choice.type !== 'some') return tools
  const names = new Set(choice.names)
  return tools.filter(({ name }) => names.has(name))
}
