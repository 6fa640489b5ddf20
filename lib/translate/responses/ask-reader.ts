/** Requests of the responses protocol: the members of the body but for the conversation and the tools. */
import type { Ask } from '../ask.ts'
import { oneLine, type Source } from '../json/literal.ts'
import type { Tree } from '../json/tree.ts'
import { object } from '../json/write.ts'
import { Untranslatable } from '../loss.ts'
import type { AskHead } from '../protocol.ts'
import {
  drop,
  effortOf,
  emptyAsk,
  ignore,
  type Member,
  type Members,
  maxOutput,
  onlyFalse,
  readBody,
  readMembers,
  refuse,
  sampling,
  string,
} from '../request.ts'
import { readItems } from './item-reader.ts'
import { checkTools, readToolChoice, readTools } from './tool-reader.ts'

/** They stand before all items, wherever the member stands in the body. */
const instructions: Member = (ask, tree, node, name) => {
  const text = tree.literal(node)
  if (text === null) throw new Untranslatable(name)
  ask.system.unshift({ type: 'text', text })
}

/** Declared here, a tool is the first of its name. */
const tools: Member = (ask, tree, node) => {
  ask.tools = [...readTools(ask, tree, node), ...ask.tools]
}

const parallel: Member = (ask, tree, node) => {
  ask.parallel = tree.boolean(node)
}

const reasoning: Member = (ask, tree, node) => {
  const word = (name: string): string | null => tree.string(tree.get(node, name))
  const effort = word('effort')
  ask.thinking.effort = effortOf(effort)
  if (effort === 'none') ask.thinking.mode = 'off'
  else if (ask.thinking.effort !== null) ask.thinking.mode = 'on'
  else if (effort !== null) ask.losses.add('effort')
  if ((word('summary') ?? word('generate_summary')) !== null) ask.thinking.show = true
  if ((word('mode') ?? 'standard') !== 'standard' || (word('context') ?? 'auto') !== 'auto') ask.losses.add('other')
}

const text: Member = (ask, tree, node) => {
  const format = tree.get(node, 'format')
  const schema = tree.get(format, 'schema')
  const type = tree.string(tree.get(format, 'type'))
  if ((tree.string(tree.get(node, 'verbosity')) ?? 'medium') !== 'medium') ask.losses.add('verbosity')
  if (type === 'json_object') ask.format = { type: 'json' }
  if (type !== 'json_schema' || tree.kind(schema) !== 'object') return
  ask.format = {
    type: 'schema',
    name: tree.string(tree.get(format, 'name')),
    schema: tree.source(schema),
    strict: tree.boolean(tree.get(format, 'strict')),
    description: tree.literal(tree.get(format, 'description')),
  }
}

/** What was encrypted is always sent, because clients send it back only then. */
const include: Member = (ask, tree, node, name) => {
  for (const element of tree.elements(node)) {
    const word = tree.string(element)
    if (word === 'message.output_text.logprobs') throw new Untranslatable(name)
    if (word !== 'reasoning.encrypted_content') ask.losses.add('include')
  }
}

const truncation: Member = (ask, tree, node) => {
  if (tree.string(node) !== 'disabled') ask.losses.add('truncation')
}

const MEMBERS: Members = {
  model: ignore,
  stream: ignore,
  stream_options: ignore,
  client_metadata: ignore,
  instructions,
  input: readItems,
  max_output_tokens: maxOutput,
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_logprobs: onlyFalse,
  tools,
  tool_choice: readToolChoice,
  parallel_tool_calls: parallel,
  max_tool_calls: drop('max_tool_calls'),
  reasoning,
  text,
  include,
  truncation,
  prompt_cache_key: string('cacheKey'),
  prompt_cache_options: drop('cache_control'),
  prompt_cache_retention: drop('cache_control'),
  safety_identifier: string('user'),
  user: string('user'),
  service_tier: string('tier'),
  store: drop('metadata'),
  metadata: drop('metadata'),
  moderation: drop('moderation'),
  context_management: drop('context_management'),
  background: onlyFalse,
  previous_response_id: refuse,
  conversation: refuse,
  prompt: refuse,
}

export function readAsk(body: Buffer, head: AskHead): Ask {
  const tree = readBody(body, head)
  const ask = emptyAsk(head)
  readMembers(ask, tree, MEMBERS)
  checkTools(ask)
  ask.repeated = repeatedOf(tree)
  return ask
}

/** What an answer repeats as it was sent. */
const REPEATED = [
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
  'truncation',
  'user',
] as const

function repeatedOf(tree: Tree): Record<string, Source> {
  const repeated: Record<string, Source> = {}
  const source = (parent: string, name: string, missing: Source): Source => {
    const node = tree.get(tree.get(tree.root, parent), name)
    return tree.absent(node) ? missing : oneLine(tree.source(node))
  }
  for (const name of REPEATED) {
    const node = tree.get(tree.root, name)
    if (!tree.absent(node)) repeated[name] = oneLine(tree.source(node))
  }
  repeated['text'] = object({
    format: source('text', 'format', '{"type":"text"}'),
    verbosity: source('text', 'verbosity', '"medium"'),
  })
  repeated['reasoning'] = object({
    effort: source('reasoning', 'effort', 'null'),
    summary: source('reasoning', 'summary', 'null'),
  })
  return repeated
}
