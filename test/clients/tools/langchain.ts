/** LangChain for JavaScript, which speaks chat: a program of a few lines, as people write it. */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** `--version` says what is installed; else the last argument is the prompt. */
const PROGRAM = `
import { readFileSync } from 'node:fs'
import { execSync } from 'node:child_process'
import { ChatOpenAI } from '@langchain/openai'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'

const { version } = JSON.parse(readFileSync(new URL('./node_modules/@langchain/openai/package.json', import.meta.url)))
if (process.argv[2] === '--version') {
  console.log(version)
  process.exit(0)
}
const { GATEWAY, KEY, MODEL } = process.env
const parameters = { type: 'object', properties: { cmd: { type: 'string' } }, required: ['cmd'] }
const shell = { type: 'function', function: { name: 'shell', description: 'runs a command', parameters } }
const model = new ChatOpenAI({ model: MODEL, apiKey: KEY, maxRetries: 2, useResponsesApi: false, configuration: { baseURL: GATEWAY + '/v1' } })
const turns = [new HumanMessage(process.argv[2])]
const usage = { input: 0, cached: 0, output: 0 }
let text = ''
let error = ''
try {
  for (let round = 0; round < 9; round++) {
    let answer = null
    for await (const chunk of await model.bindTools([shell]).stream(turns)) answer = answer === null ? chunk : answer.concat(chunk)
    usage.input += answer.usage_metadata?.input_tokens ?? 0
    usage.cached += answer.usage_metadata?.input_token_details?.cache_read ?? 0
    usage.output += answer.usage_metadata?.output_tokens ?? 0
    text = typeof answer.content === 'string' ? answer.content : answer.text
    if ((answer.tool_calls ?? []).length === 0) break
    turns.push(answer)
    for (const call of answer.tool_calls)
      turns.push(new ToolMessage({ tool_call_id: call.id, content: execSync(call.args.cmd, { shell: '/bin/bash' }).toString() }))
  }
} catch (thrown) {
  error = String(thrown?.status ?? '') + ' ' + String(thrown?.message ?? thrown)
}
console.log(JSON.stringify({ text, error, usage }))
process.exit(error === '' ? 0 : 1)
`

export const langchain: Tool = {
  name: 'langchain-js',
  package: '@langchain/openai',
  beside: ['@langchain/core@1.4.0'],
  program: PROGRAM,
  version: '1.6.0',
  settings: '`ChatOpenAI({ configuration: { baseURL } })`',
  bin: 'langchain',
  protocol: 'chat',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'shell', args: cmd => ({ cmd }) },
  files: () => ({}),
  args: ({ prompt }) => [prompt],
  env: ({ gateway, key, model }) => ({ GATEWAY: gateway, KEY: key, MODEL: model }),
  read(stdout, stderr) {
    const told = linesOf(stdout).at(-1)
    if (told === undefined) return { text: '', error: stderr || stdout || 'it printed nothing', usage: null }
    const usage = fieldsOf(told['usage'])
    const tokens = {
      input: numberOf(usage['input']),
      cached: numberOf(usage['cached']),
      output: numberOf(usage['output']),
    }
    return { text: textOf(told['text']), error: textOf(told['error']), usage: tokens }
  },
}
