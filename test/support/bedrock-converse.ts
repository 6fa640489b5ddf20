/**
 * How the double of Bedrock speaks Converse: what is asked becomes a request of messages for the simulator, and what that answers becomes a
 * document or frames of Converse. It refuses what Bedrock refuses.
 */
import { frameBytes } from '../upstream/aws/frames.ts'

type Json = Record<string, unknown>

const fields = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

/** Why a request is refused; null = it is not. */
export function refusedBy(body: Json): string | null {
  const messages = list(body['messages'])
  const blocks = messages.flatMap(({ content }) => list(content))
  if ('model' in body || 'stream' in body)
    return 'The model returned the following errors: extraneous key is not permitted'
  if (messages.some(({ role }, at) => role !== (at % 2 === 0 ? 'user' : 'assistant')))
    return 'A conversation must alternate between user and assistant roles.'
  if (messages.some(({ content }) => list(content).length === 0))
    return 'The content field in the Message object is empty.'
  if (blocks.some(({ text }) => typeof text === 'string' && text.trim() === ''))
    return 'The text field in the ContentBlock object is blank.'
  const hasTools = list(fields(body['toolConfig'])['tools']).length > 0
  if (!hasTools && blocks.some(block => 'toolUse' in block || 'toolResult' in block))
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
  const calls = new Set(blocks.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [fields(toolUse)['toolUseId']])))
  if (blocks.some(({ toolResult }) => toolResult !== undefined && !calls.has(fields(toolResult)['toolUseId'])))
    return 'The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.'
  return null
}

function blockOf(block: Json): Json[] {
  const { text, image, document, toolUse, toolResult, reasoningContent } = block
  if (typeof text === 'string') return [{ type: 'text', text }]
  const { format, source } = fields(image ?? document)
  const data = fields(source)['bytes']
  if (image !== undefined)
    return [{ type: 'image', source: { type: 'base64', media_type: `image/${format as string}`, data } }]
  if (document !== undefined)
    return [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }]
  if (toolUse !== undefined) {
    const { toolUseId: id, name, input } = fields(toolUse)
    return [{ type: 'tool_use', id, name, input }]
  }
  if (toolResult !== undefined) {
    const { toolUseId: tool_use_id, content, status } = fields(toolResult)
    return [{ type: 'tool_result', tool_use_id, content: list(content).flatMap(blockOf), is_error: status === 'error' }]
  }
  const { reasoningText } = fields(reasoningContent)
  if (reasoningText === undefined) return []
  const { text: thinking, signature } = fields(reasoningText)
  return [{ type: 'thinking', thinking, signature }]
}

/** A cache point marks the block before it. */
function blocksOf(content: unknown): Json[] {
  const blocks: Json[] = []
  for (const block of list(content)) {
    const last = blocks.at(-1)
    if ('cachePoint' in block && last !== undefined)
      last['cache_control'] = { type: 'ephemeral', ttl: fields(block['cachePoint'])['ttl'] ?? '5m' }
    else blocks.push(...blockOf(block))
  }
  return blocks
}

/** The request as the simulator is asked. */
export function asMessages(body: Json, model: string, stream: boolean): Json {
  const { maxTokens = 4096, stopSequences } = fields(body['inferenceConfig'])
  const config = fields(body['toolConfig'])
  const tools: Json[] = []
  for (const { toolSpec, cachePoint } of list(config['tools'])) {
    const { name, description, inputSchema } = fields(toolSpec)
    const last = tools.at(-1)
    if (cachePoint === undefined) tools.push({ name, description, input_schema: fields(inputSchema)['json'] })
    else if (last !== undefined) last['cache_control'] = { type: 'ephemeral' }
  }
  const forced = fields(fields(config['toolChoice'])['tool'])['name']
  return {
    model,
    stream,
    max_tokens: maxTokens,
    stop_sequences: stopSequences,
    system: blocksOf(body['system']),
    messages: list(body['messages']).map(({ role, content }) => ({ role, content: blocksOf(content) })),
    ...(tools.length === 0 ? {} : { tools }),
    ...(forced === undefined ? {} : { tool_choice: { type: 'tool', name: forced } }),
    thinking: fields(body['additionalModelRequestFields'])['thinking'],
  }
}

function usageOf(said: unknown): Json {
  const { input_tokens: inputTokens, output_tokens: outputTokens, ...cached } = fields(said)
  const cacheReadInputTokens = Number(cached['cache_read_input_tokens'] ?? 0)
  const cacheWriteInputTokens = Number(cached['cache_creation_input_tokens'] ?? 0)
  const lives = fields(cached['cache_creation'])
  const cacheDetails = [
    { ttl: '1h', inputTokens: lives['ephemeral_1h_input_tokens'] },
    { ttl: '5m', inputTokens: lives['ephemeral_5m_input_tokens'] },
  ].filter(({ inputTokens: tokens }) => Number(tokens ?? 0) > 0)
  const totalTokens = Number(inputTokens) + Number(outputTokens) + cacheReadInputTokens + cacheWriteInputTokens
  return { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens, cacheDetails }
}

/** A whole answer. */
export function wholeAnswer({ content, stop_reason: stopReason, usage }: Json): Json {
  const blocks = list(content).map(block => {
    const { type, text, thinking, signature, id: toolUseId, name, input } = block
    if (type === 'thinking') return { reasoningContent: { reasoningText: { text: thinking, signature } } }
    if (type === 'redacted_thinking') return { reasoningContent: { redactedContent: block['data'] } }
    return type === 'tool_use' ? { toolUse: { toolUseId, name, input } } : { text }
  })
  const output = { message: { role: 'assistant', content: blocks } }
  return { output, stopReason, usage: usageOf(usage), metrics: { latencyMs: 900 } }
}

const frame = (type: string, data: Json): Buffer =>
  frameBytes(
    [
      [':event-type', type],
      [':content-type', 'application/json'],
      [':message-type', 'event'],
    ],
    JSON.stringify({ ...data, p: 'abcdefghijklmnopqrstuvwxyz'.slice(0, (JSON.stringify(data).length % 25) + 1) }),
  )

/** The events of a stream of messages as those of Converse: of some there is none, and the usage of the first is told with the last. */
export class ConverseFrames {
  #usage: Json = {}

  of({ type, index: contentBlockIndex, ...event }: Json): Buffer[] {
    const delta = fields(event['delta'])
    switch (type) {
      case 'message_start':
        this.#usage = fields(fields(event['message'])['usage'])
        return [frame('messageStart', { role: 'assistant' })]
      case 'content_block_start': {
        const { type: kind, id: toolUseId, name, data: redactedContent } = fields(event['content_block'])
        if (kind === 'redacted_thinking')
          return [frame('contentBlockDelta', { contentBlockIndex, delta: { reasoningContent: { redactedContent } } })]
        if (kind !== 'tool_use') return []
        return [frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })]
      }
      case 'content_block_delta': {
        const { text, thinking, signature, partial_json: input } = delta
        const told =
          input !== undefined
            ? { toolUse: { input } }
            : text !== undefined
              ? { text }
              : { reasoningContent: thinking === undefined ? { signature } : { text: thinking } }
        return [frame('contentBlockDelta', { contentBlockIndex, delta: told })]
      }
      case 'content_block_stop':
        return [frame('contentBlockStop', { contentBlockIndex })]
      case 'message_delta':
        this.#usage = { ...this.#usage, ...fields(event['usage']) }
        return [frame('messageStop', { stopReason: delta['stop_reason'] })]
      case 'message_stop':
        return [frame('metadata', { usage: usageOf(this.#usage), metrics: { latencyMs: 900 } })]
      default:
        return []
    }
  }
}
