/**
 * Every tool and every member of a request that the three families' clients can name is decided here: free, paid, or refused.
 * The types of the clients are read as they are installed, so that a newer version with a new tool fails this test until
 * somebody has decided about it.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { GENERATE_TOOLS, snake, stemOf, SWITCHES, TYPED_TOOLS } from '../../lib/protocols/words/server-tools.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { PACKAGES } from '../clients/packages.ts'

const TYPES = {
  messages: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
  plainMessages: '@anthropic-ai/sdk/resources/messages/messages.d.ts',
  chat: 'openai/resources/chat/completions/completions.d.ts',
  responses: 'openai/resources/responses/responses.d.ts',
  generate: '@google/genai/dist/genai.d.ts',
}

/** The text of a file of types, without its comments. */
const textOf = (file: string): string => readFileSync(`${PACKAGES}/${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')

/** What stands between the braces of an interface. A name with a dot stands in a namespace. */
function bodyOf(text: string, name: string): string | null {
  const [first = '', second] = name.split('.')
  const from = second === undefined ? 0 : text.search(new RegExp(`declare namespace ${first} \\{`))
  const at = text.slice(from).search(new RegExp(`interface ${second ?? first}\\b[^{]*\\{`))
  if (from < 0 || at < 0) return null
  const begin = text.indexOf('{', from + at) + 1
  let end = begin
  for (let depth = 1; depth > 0; end++) depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0
  return text.slice(begin, end - 1)
}

/** The names of an interface's own members, each with its type. */
function members(text: string, name: string): Map<string, string> {
  const body = bodyOf(text, name)
  if (body === null) throw new Error(`no interface ${name}`)
  const found = new Map<string, string>()
  let depth = 0
  let member = ''
  for (const c of body) {
    depth += '{<('.includes(c) ? 1 : '}>)'.includes(c) ? -1 : 0
    member += c
    if (c !== ';' || depth > 0) continue
    const [, key, type] = /^\s*(\w+)\??:\s*([\s\S]*);$/.exec(member) ?? []
    if (key !== undefined) found.set(key, type as string)
    member = ''
  }
  return found
}

/** The texts that the member `type` may have, in the parts of a union. */
function typesOf(text: string, union: string): string[] {
  const parts = new RegExp(`type ${union} = ([^;]*);`).exec(text)?.[1]?.split('|') ?? []
  return parts.flatMap(part => {
    const name = part.trim()
    const isUnion = bodyOf(text, name) === null
    const type = isUnion ? '' : (members(text, name).get('type') ?? '')
    const texts = [...type.matchAll(/'([^']*)'/g)].map(([, one]) => one as string)
    if (isUnion || (texts.length === 0 && !/^(Beta)?Tool$/.test(name)))
      throw new Error(`${name} has no type that is read`)
    return texts
  })
}

/** The names in the first cells of the rows of a table, each with what the second cell begins with. */
function table(head: string): Map<string, string> {
  const text = readFileSync(new URL('../../docs/charging.md', import.meta.url), 'utf8')
  const from = text.indexOf(`| ${head} |`)
  const rows = text.slice(from, text.indexOf('\n\n', from)).split('\n').slice(2)
  return new Map(
    rows.flatMap(row => {
      const [, names = '', cost = ''] = row.split(' | ').length > 1 ? ['', ...row.split(' | ')] : []
      return [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name as string, cost] as const)
    }),
  )
}

t.test('docs/charging.md has the same tables', async t => {
  const words: Record<string, RegExp> = {
    free: /^nothing/,
    tokens: /^tokens/,
    stored: /^refused/,
    web_search: /^`web_search`/,
    maps: /^`maps`/,
    container: /^`container`/,
    code_execution: /^`code_execution`/,
    other: /^(a price under|the plugin)/,
  }
  const switches = Object.fromEntries(Object.entries(SWITCHES).map(([name, { cost }]) => [name, cost]))
  for (const [head, rows] of [
    ['tools of messages, chat and responses | cost', TYPED_TOOLS],
    ['tools of generate | cost', GENERATE_TOOLS],
    ['members of a body, also in `extra_body` | cost', switches],
  ] as const) {
    const written = table(head)
    const names = Object.keys(rows).filter(name => name !== '')
    t.same([...written.keys()].sort(), names.sort(), head)
    for (const [name, cost] of Object.entries(rows)) if (name !== '') t.match(written.get(name), words[cost], name)
  }
})

t.test('every tool of the clients’ types has a row', async t => {
  const rows: [file: string, union: string, least: number][] = [
    [TYPES.messages, 'BetaToolUnion', 25],
    [TYPES.plainMessages, 'ToolUnion', 18],
    [TYPES.chat, 'ChatCompletionTool', 2],
    [TYPES.responses, 'Tool', 16],
  ]
  for (const [file, union, least] of rows) {
    const types = typesOf(textOf(file), union)
    t.ok(types.length >= least, `${union}: the types are found (${types.length})`)
    for (const type of types) t.ok(Object.hasOwn(TYPED_TOOLS, stemOf(type)), `${union}: ${type}`)
  }
  const ofGenerate = [...members(textOf(TYPES.generate), 'Tool').keys()]
  t.ok(ofGenerate.length >= 12, 'generate: the members are found')
  for (const name of ofGenerate) t.ok(Object.hasOwn(GENERATE_TOOLS, snake(name)), `generate: ${name}`)
})

/** Members that switch nothing on which is billed beside tokens, pictures and sound, or that are read elsewhere. */
const FREE: Record<'messages' | 'chat' | 'responses' | 'generate', readonly string[]> = {
  messages: [
    'max_tokens',
    'messages',
    'model',
    'billing_policy',
    'cache_control',
    'compaction',
    'context_management',
    'diagnostics',
    'fallback_credit_token',
    'inference_geo',
    'metadata',
    'output_config',
    'output_format',
    'service_tier',
    'speed',
    'stop_sequences',
    'stream',
    'system',
    'temperature',
    'thinking',
    'tool_choice',
    'tools',
    'top_k',
    'top_p',
    // headers, which do not pass
    'betas',
    'user_profile_id',
    'workspace_id',
    // refused where they name what is stored, and priced by their models
    'thread',
    'fallbacks',
  ],
  chat: [
    'messages',
    'model',
    'audio',
    'frequency_penalty',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'metadata',
    'modalities',
    'moderation',
    'n',
    'parallel_tool_calls',
    'prediction',
    'presence_penalty',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'user',
    'verbosity',
  ],
  responses: [
    'access_programs',
    'background',
    'context_management',
    'image',
    'include',
    'input',
    'instructions',
    'max_output_tokens',
    'max_tool_calls',
    'metadata',
    'model',
    'moderation',
    'parallel_tool_calls',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning',
    'safety_identifier',
    'service_tier',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'text',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'truncation',
    'user',
    // what is stored is refused
    'conversation',
    'previous_response_id',
    'prompt',
  ],
  generate: [
    'httpOptions',
    'abortSignal',
    'serviceTier',
    'systemInstruction',
    'temperature',
    'topP',
    'topK',
    'candidateCount',
    'maxOutputTokens',
    'stopSequences',
    'responseLogprobs',
    'logprobs',
    'presencePenalty',
    'frequencyPenalty',
    'seed',
    'responseMimeType',
    'responseSchema',
    'responseJsonSchema',
    'safetySettings',
    'tools',
    'toolConfig',
    'labels',
    'responseModalities',
    'mediaResolution',
    'speechConfig',
    'audioTimestamp',
    'automaticFunctionCalling',
    'thinkingConfig',
    'audioTranscriptionConfig',
    'imageConfig',
    'enableEnhancedCivicAnswers',
    'modelArmorConfig',
    'automaticContinuation',
    'store',
    // refused: they name another model, or what is stored
    'routingConfig',
    'modelSelectionConfig',
    'cachedContent',
    'continuationToken',
    'generationOutputConfig',
  ],
}

t.test('every member of a request is in the table, or known to be free', async t => {
  const rows: [keyof typeof FREE, file: string, name: string, least: number][] = [
    ['messages', TYPES.messages, 'MessageCreateParamsBase', 25],
    ['messages', TYPES.plainMessages, 'MessageCreateParamsBase', 18],
    ['chat', TYPES.chat, 'ChatCompletionCreateParamsBase', 35],
    ['responses', TYPES.responses, 'ResponseCreateParamsBase', 30],
    ['generate', TYPES.generate, 'GenerateContentConfig', 35],
  ]
  for (const [protocol, file, name, least] of rows) {
    const found = [...members(textOf(file), name).keys()]
    t.ok(found.length >= least, `${name}: the members are found (${found.length})`)
    const known = new Set([...FREE[protocol], ...Object.keys(protocol === 'generate' ? {} : SWITCHES)])
    for (const member of found) t.ok(known.has(member), `${protocol}: ${member}`)
  }
})

t.test('a name that has to be used is read once, however many tools there are', async t => {
  const MOST = 256
  const body = {
    model: 'm',
    tools: Array.from({ length: MOST }, () => ({ type: 'web_search' })),
    tool_choice: [...Array.from({ length: MOST - 1 }, (_, i) => `${'-1234567'.repeat(20)}${i}`), 'web_search_20250305'],
    messages: [],
  }
  const scan = protocolRow('chat').body.scan('application/json')
  scan.feed(Buffer.from(JSON.stringify(body)))
  let dates = 0
  const { replace } = String.prototype
  String.prototype.replace = function (this: string, ...args: Parameters<typeof replace>) {
    dates++
    return replace.apply(this, args)
  } as typeof replace
  const { tools = [] } = scan.end() ?? {}
  String.prototype.replace = replace
  t.ok(dates > 0 && dates <= 2 * MOST, `${dates}`)
  t.equal(tools.length, MOST)
  t.ok(
    tools.every(({ forced }) => forced),
    'the last name, without its date, is the one of all',
  )
})
