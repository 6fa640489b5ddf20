/** Requests of generate-content: the members of the body but for the conversation. */
import type { Ask } from '../ask.ts'
import type { Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'
import type { AskHead } from '../protocol.ts'
import { drop, effortOf, emptyAsk, ignore, type Member, readBody, readMembers, refuse } from '../request.ts'
import { get, numberOf, numberText, spelled, stringOf } from './members.ts'
import { jsonSchemaSource, schemaSource } from './schema-reader.ts'
import { checkTools, readToolConfig, readTools } from './tool-reader.ts'
import { readSystem, readTurns } from './turn-reader.ts'

const sampling =
  (name: keyof Ask['sampling']): Member =>
  (ask, tree, node) => {
    const source = numberText(tree, node)
    if (source !== null) ask.sampling[name] = source
  }

const maxOutput: Member = (ask, tree, node, name) => {
  const value = numberOf(tree, node)
  if (value === null || value < 1 || !Number.isInteger(value)) throw new Untranslatable(`generationConfig.${name}`)
  ask.maxOutput = value
}

const stop: Member = (ask, tree, node) => {
  for (const element of tree.elements(node)) {
    const text = tree.literal(element)
    if (text !== null) ask.stop.push(text)
  }
}

const onlyOne: Member = (_ask, tree, node, name) => {
  if (numberOf(tree, node) !== 1) throw new Untranslatable(`generationConfig.${name}`)
}

/** Tokens with their chances. */
const unlessFalse: Member = (_ask, tree, node, name) => {
  if (tree.boolean(node) === true || (numberOf(tree, node) ?? 0) > 0)
    throw new Untranslatable(`generationConfig.${name}`)
}

/** Pictures and sound are nothing that a text of another protocol could have. */
const modalities: Member = (_ask, tree, node, name) => {
  if (tree.elements(node).some(element => !/^(?:text|modality_unspecified)$/i.test(tree.string(element) ?? '')))
    throw new Untranslatable(`generationConfig.${name}`)
}

const mimeType: Member = (ask, tree, node, name) => {
  const mime = tree.string(node)
  if (mime === 'application/json') ask.format = ask.format.type === 'schema' ? ask.format : { type: 'json' }
  else if (mime !== 'text/plain' && mime !== '') throw new Untranslatable(`generationConfig.${name}`)
}

const schema =
  (isOpenApi: boolean): Member =>
  (ask, tree, node) => {
    if (tree.kind(node) !== 'object') return
    const source = isOpenApi ? schemaSource(tree.source(node)) : jsonSchemaSource(tree, node)
    ask.format = { type: 'schema', name: null, schema: source, strict: null, description: null }
  }

const OFF = 0
/** A budget of -1: as much as the model likes. */
const thinking: Member = ({ thinking }, tree, node) => {
  const budget = numberOf(tree, get(tree, node, 'thinkingBudget'))
  const level = stringOf(tree, node, 'thinkingLevel')
  const effort = effortOf(level?.toLowerCase() ?? null)
  if (budget === OFF) thinking.mode = 'off'
  else if (effort !== null || (budget !== null && budget > OFF)) thinking.mode = 'on'
  if (effort !== null) thinking.effort = effort
  else if (budget !== null && budget > OFF) thinking.budget = Math.ceil(budget)
  thinking.show = tree.boolean(get(tree, node, 'includeThoughts'))
}

const CONFIG = spelled({
  temperature: sampling('temperature'),
  topP: sampling('topP'),
  topK: sampling('topK'),
  seed: sampling('seed'),
  presencePenalty: sampling('presence'),
  frequencyPenalty: sampling('frequency'),
  maxOutputTokens: maxOutput,
  candidateCount: onlyOne,
  stopSequences: stop,
  responseLogprobs: unlessFalse,
  logprobs: unlessFalse,
  responseModalities: modalities,
  responseMimeType: mimeType,
  responseSchema: schema(true),
  responseJsonSchema: schema(false),
  _responseJsonSchema: schema(false),
  thinkingConfig: thinking,
  mediaResolution: drop('image_detail'),
})

const config: Member = (ask, tree, node) => readMembers(ask, tree, CONFIG, node)

const tier: Member = (ask, tree, node) => {
  const said = tree.string(node)?.toLowerCase() ?? null
  const named = said?.replace(/^service_tier_/, '') ?? null
  ask.tier = named === 'standard' ? 'default' : named === 'unspecified' ? null : named
}

const MEMBERS = spelled({
  model: ignore,
  contents: readTurns,
  systemInstruction: readSystem,
  tools: readTools,
  toolConfig: readToolConfig,
  generationConfig: config,
  safetySettings: drop('safety_settings'),
  cachedContent: refuse,
  continuationToken: refuse,
  labels: drop('metadata'),
  store: drop('metadata'),
  serviceTier: tier,
})

export function readAsk(body: Buffer, head: AskHead): Ask {
  const tree: Tree = readBody(body, head)
  const ask = emptyAsk(head)
  readMembers(ask, tree, MEMBERS)
  checkTools(ask)
  return ask
}
