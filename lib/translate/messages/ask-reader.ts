/** Requests of the messages protocol: the members of the body but for the conversation. */
import type { Ask, Choice } from '../ask.ts'
import { digest } from '../ids.ts'
import type { Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import type { AskHead } from '../protocol.ts'
import {
  cacheOf,
  drop,
  effortOf,
  emptyAsk,
  ignore,
  type Member,
  type Members,
  maxOutput,
  readBody,
  readMembers,
  refuse,
  sampling,
} from '../request.ts'
import { readSystem, readTurns } from './turn-reader.ts'

const stop: Member = (ask, tree, node) => {
  for (const element of tree.elements(node)) {
    const text = tree.literal(element)
    if (text !== null) ask.stop.push(text)
  }
}

/** A tool with a type of its own runs at the upstream, or is one that only its models know. */
const tools: Member = (ask, tree, node) => {
  for (const tool of tree.elements(node)) {
    const type = tree.string(tree.get(tool, 'type'))
    const name = tree.string(tree.get(tool, 'name'))
    if ((type !== null && type !== 'custom') || name === null) {
      ask.losses.add('hosted_tools')
      continue
    }
    const schema = tree.get(tool, 'input_schema')
    ask.tools.push({
      type: 'function',
      name,
      description: tree.literal(tree.get(tool, 'description')),
      schema: tree.kind(schema) === 'object' ? tree.source(schema) : null,
      strict: tree.boolean(tree.get(tool, 'strict')),
      ...cacheOf(tree, tool),
    })
  }
}

const CHOICES: Readonly<Record<string, Choice>> = {
  auto: { type: 'auto' },
  any: { type: 'any' },
  none: { type: 'none' },
}

const toolChoice: Member = (ask, tree, node) => {
  const type = tree.string(tree.get(node, 'type')) ?? ''
  const name = tree.string(tree.get(node, 'name'))
  if (type === 'tool' && name !== null) ask.choice = { type: 'one', name }
  else if (Object.hasOwn(CHOICES, type)) ask.choice = CHOICES[type] as Choice
  else throw new Untranslatable('tool_choice')
  const disabled = tree.boolean(tree.get(node, 'disable_parallel_tool_use'))
  if (disabled !== null) ask.parallel = !disabled
}

const thinking: Member = (ask, tree, node) => {
  const display = tree.string(tree.get(node, 'display'))
  ask.thinking.mode = tree.string(tree.get(node, 'type')) === 'disabled' ? 'off' : 'on'
  ask.thinking.budget = tree.number(tree.get(node, 'budget_tokens'))
  if (display !== null) ask.thinking.show = display !== 'omitted'
}

function format(ask: Ask, tree: Tree, node: Node): void {
  const schema = tree.get(node, 'schema')
  if (tree.kind(schema) !== 'object') return
  ask.format = { type: 'schema', name: null, schema: tree.source(schema), strict: null, description: null }
}

const outputConfig: Member = (ask, tree, node) => {
  ask.thinking.effort = effortOf(tree.string(tree.get(node, 'effort')))
  format(ask, tree, tree.get(node, 'format'))
  if (!tree.absent(tree.get(node, 'task_budget'))) ask.losses.add('other')
}

/** Clients put an id of the session into it, which makes it the same for requests that begin alike. */
const metadata: Member = (ask, tree, node) => {
  const user = tree.string(tree.get(node, 'user_id'))
  if (user !== null) ask.cacheKey = digest(user, 'hex').slice(0, 32)
}

const serviceTier: Member = (ask, tree, node) => {
  if (tree.string(node) === 'standard_only') ask.tier = 'default'
}

const speed: Member = (ask, tree, node) => {
  if (tree.string(node) !== 'standard') ask.losses.add('service_tier')
}

const cacheControl: Member = (ask, tree, node) => {
  ask.cache = tree.string(tree.get(node, 'ttl')) === '1h' ? '1h' : '5m'
}

const MEMBERS: Members = {
  model: ignore,
  stream: ignore,
  messages: readTurns,
  system: readSystem,
  max_tokens: maxOutput,
  stop_sequences: stop,
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_k: sampling('topK'),
  tools,
  tool_choice: toolChoice,
  thinking,
  output_config: outputConfig,
  output_format: format,
  metadata,
  service_tier: serviceTier,
  speed,
  cache_control: cacheControl,
  context_management: drop('context_management'),
  compaction: drop('context_management'),
  mcp_servers: drop('hosted_tools'),
  fallbacks: drop('other'),
  diagnostics: ignore,
  container: refuse,
  thread: refuse,
  inference_geo: refuse,
}

export function readAsk(body: Buffer, head: AskHead): Ask {
  const tree = readBody(body, head)
  const ask = emptyAsk(head)
  readMembers(ask, tree, MEMBERS)
  const { choice, tools } = ask
  // a tool that is gone cannot be called, and what was to be forced is not what would be answered
  if (choice.type === 'one' && !tools.some(({ name }) => name === choice.name)) throw new Untranslatable('tool_choice')
  if (choice.type === 'any' && tools.length === 0) throw new Untranslatable('tool_choice')
  // Claude Code searches the web with such a request: without its only tool, a model would invent what was found
  if (tools.length === 0 && ask.losses.has('hosted_tools') && tree.elements(tree.get(tree.root, 'tools')).length > 0)
    throw new Untranslatable('tools')
  return ask
}
