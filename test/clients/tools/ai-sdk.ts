/** The AI SDK in its three versions of these years, which speak chat: a program of a few lines, as people write it. */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** `--version` says what is installed; else the last argument is the prompt. */
const PROGRAM = `
import { readFileSync } from 'node:fs'
import { execSync } from 'node:child_process'
import { createOpenAI } from '@ai-sdk/openai'
import { jsonSchema, stepCountIs, streamText, tool } from 'ai'

const { version } = JSON.parse(readFileSync(new URL('./node_modules/ai/package.json', import.meta.url)))
if (process.argv[2] === '--version') {
  console.log(version)
  process.exit(0)
}
const { GATEWAY, KEY, MODEL } = process.env
const schema = { type: 'object', properties: { cmd: { type: 'string' } }, required: ['cmd'] }
const shell = tool({
  description: 'runs a command',
  inputSchema: jsonSchema(schema),
  execute: ({ cmd }) => execSync(cmd, { shell: '/bin/bash' }).toString(),
})
let error = ''
const result = streamText({
  model: createOpenAI({ baseURL: GATEWAY + '/v1', apiKey: KEY }).chat(MODEL),
  prompt: process.argv[2],
  tools: { shell },
  stopWhen: stepCountIs(9),
  onError: event => { error = String(event.error?.message ?? event.error) + ' ' + String(event.error?.lastError?.statusCode ?? event.error?.statusCode ?? '') },
})
let text = ''
let usage = null
let finish = ''
try {
  for await (const part of result.textStream) text += part
  usage = await result.totalUsage
  finish = await result.finishReason
} catch (thrown) {
  error ||= String(thrown?.message ?? thrown)
}
if (error === '' && finish === 'error') error = 'the answer broke off'
console.log(JSON.stringify({ text, error, usage }))
process.exit(error === '' ? 0 : 1)
`

const aiSdk = (major: number, version: string, provider: string): Tool => ({
  name: `ai-sdk-${major}`,
  package: 'ai',
  beside: [`@ai-sdk/openai@${provider}`],
  program: PROGRAM,
  version,
  settings: '`createOpenAI({ baseURL }).chat(model)`',
  bin: 'ai',
  protocol: 'chat',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'shell', args: cmd => ({ cmd }) },
  files: () => ({}),
  args: ({ prompt }) => [prompt],
  env: ({ gateway, key, model }) => ({ GATEWAY: gateway, KEY: key, MODEL: model, AI_SDK_LOG_WARNINGS: 'false' }),
  read(stdout, stderr) {
    const told = linesOf(stdout).at(-1)
    if (told === undefined) return { text: '', error: stderr || stdout || 'it printed nothing', usage: null }
    const usage = fieldsOf(told['usage'])
    const cached =
      numberOf(usage['cachedInputTokens']) || numberOf(fieldsOf(usage['inputTokenDetails'])['cacheReadTokens'])
    const tokens = { input: numberOf(usage['inputTokens']), cached, output: numberOf(usage['outputTokens']) }
    return { text: textOf(told['text']), error: textOf(told['error']), usage: told['usage'] === null ? null : tokens }
  },
})

export const aiSdks: readonly Tool[] = [
  aiSdk(5, '5.0.277', '2.0.130'),
  aiSdk(6, '6.0.325', '3.0.141'),
  aiSdk(7, '7.0.173', '4.0.118'),
]
