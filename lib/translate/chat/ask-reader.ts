/** Requests of chat completions: the members of the body but for the conversation. */
import type { Ask } from '../ask.ts'
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
import { checkTools, readFunctions, readToolChoice, readTools } from './tool-reader.ts'
import { readTurns } from './turn-reader.ts'

const stop: Member = (ask, tree, node) => {
  const texts = tree.kind(node) === 'array' ? tree.elements(node) : [node]
  for (const element of texts) {
    const text = tree.literal(element)
    if (text !== null) ask.stop.push(text)
  }
}

/** More than one answer, tokens with their chances, sound: nothing that a text of another protocol could have. */
const onlyOne: Member = (_ask, tree, node, name) => {
  if (tree.number(node) !== 1) throw new Untranslatable(name)
}

const modalities: Member = (_ask, tree, node, name) => {
  if (tree.elements(node).some(element => tree.string(element) !== 'text')) throw new Untranslatable(name)
}

const parallel: Member = (ask, tree, node) => {
  ask.parallel = tree.boolean(node)
}

const format: Member = (ask, tree, node) => {
  const type = tree.string(tree.get(node, 'type'))
  if (type === 'json_object') ask.format = { type: 'json' }
  if (type !== 'json_schema') return
  const inner = tree.get(node, 'json_schema')
  const schema = tree.get(inner, 'schema')
  if (tree.kind(schema) !== 'object') return
  ask.format = {
    type: 'schema',
    name: tree.string(tree.get(inner, 'name')),
    schema: tree.source(schema),
    strict: tree.boolean(tree.get(inner, 'strict')),
    description: tree.literal(tree.get(inner, 'description')),
  }
}

function setEffort({ thinking }: Ask, word: string | null): void {
  thinking.effort = effortOf(word)
  if (word === 'none') thinking.mode = 'off'
  else if (thinking.effort !== null) thinking.mode = 'on'
}

const reasoningEffort: Member = (ask, tree, node) => setEffort(ask, tree.string(node))

/** How a few vendors ask for thinking. */
const reasoning: Member = (ask, tree, node) => {
  const budget = tree.number(tree.get(node, 'max_tokens'))
  const enabled = tree.boolean(tree.get(node, 'enabled'))
  setEffort(ask, tree.string(tree.get(node, 'effort')))
  if (budget !== null) ask.thinking = { ...ask.thinking, mode: 'on', budget }
  else if (enabled !== null) ask.thinking.mode = enabled ? 'on' : 'off'
  if (tree.boolean(tree.get(node, 'exclude')) === true) ask.thinking.show = false
}

const thinking: Member = (ask, tree, node) => {
  const type = tree.string(tree.get(node, 'type'))
  const budget = tree.number(tree.get(node, 'budget_tokens'))
  ask.thinking.mode = type === 'disabled' ? 'off' : 'on'
  if (budget !== null) ask.thinking.budget = budget
}

const enableThinking: Member = (ask, tree, node) => {
  const on = tree.boolean(node)
  if (on !== null) ask.thinking.mode = on ? 'on' : 'off'
}

const thinkingBudget: Member = (ask, tree, node) => {
  ask.thinking.budget = tree.number(node)
}

const MEMBERS: Members = {
  model: ignore,
  stream: ignore,
  stream_options: ignore,
  messages: readTurns,
  max_tokens: maxOutput,
  max_completion_tokens: maxOutput,
  stop,
  n: onlyOne,
  logprobs: onlyFalse,
  top_logprobs: onlyFalse,
  modalities,
  audio: refuse,
  temperature: sampling('temperature'),
  top_p: sampling('topP'),
  top_k: sampling('topK'),
  seed: sampling('seed'),
  presence_penalty: sampling('presence'),
  frequency_penalty: sampling('frequency'),
  logit_bias: drop('logit_bias'),
  tools: readTools,
  functions: readFunctions,
  tool_choice: readToolChoice,
  function_call: readToolChoice,
  parallel_tool_calls: parallel,
  response_format: format,
  reasoning_effort: reasoningEffort,
  reasoning,
  thinking,
  enable_thinking: enableThinking,
  thinking_budget: thinkingBudget,
  prompt_cache_key: string('cacheKey'),
  prompt_cache_options: drop('cache_control'),
  prompt_cache_retention: drop('cache_control'),
  safety_identifier: string('user'),
  user: string('user'),
  service_tier: string('tier'),
  store: drop('metadata'),
  metadata: drop('metadata'),
  moderation: drop('moderation'),
  prediction: drop('prediction'),
  verbosity: drop('verbosity'),
  web_search_options: drop('hosted_tools'),
}

export function readAsk(body: Buffer, head: AskHead): Ask {
  const tree = readBody(body, head)
  const ask = emptyAsk(head)
  readMembers(ask, tree, MEMBERS)
  checkTools(ask)
  return ask
}
