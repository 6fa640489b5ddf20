import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** opencode: speaks any protocol; here chat, which none of the others speaks. */
export const opencode: Tool = {
  name: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  settings: 'a provider with `npm: @ai-sdk/openai-compatible`',
  bin: 'opencode',
  protocol: 'chat',
  requests: { prompt: 2, beside: 'the title of the session' },
  shell: { name: 'bash', args: command => ({ command, description: 'Runs a command' }) },
  files: ({ gateway, model }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      model: `gateway/${model}`,
      small_model: `gateway/${model}`,
      permission: { bash: 'allow' },
      provider: {
        gateway: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${gateway}/v1`, apiKey: '{env:GATEWAY_KEY}' },
          models: { [model]: { tool_call: true, limit: { context: 200_000, output: 32_000 } } },
        },
      },
    }),
  }),
  args: ({ prompt }) => ['run', '--format', 'json', prompt],
  env: ({ key }) => ({
    GATEWAY_KEY: key,
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    // it would install a package for plugins beside its settings
    npm_config_registry: 'http://127.0.0.1:9',
  }),
  read(stdout, stderr) {
    const events = linesOf(stdout)
    const parts = (type: string) => events.filter(event => event['type'] === type).map(event => fieldsOf(event['part']))
    const steps = parts('step_finish').map(part => fieldsOf(part['tokens']))
    const cacheOf = (tokens: Record<string, unknown>, name: string) => numberOf(fieldsOf(tokens['cache'])[name])
    const sum = (of: (tokens: Record<string, unknown>) => number) =>
      steps.reduce((total, tokens) => total + of(tokens), 0)
    const failed = events.findLast(event => event['type'] === 'error')
    const cached = sum(tokens => cacheOf(tokens, 'read'))
    return {
      text: textOf(parts('text').at(-1)?.['text']),
      error: failed === undefined ? (steps.length === 0 ? stderr || stdout : '') : textOf(failed['error']),
      usage: {
        input: sum(tokens => numberOf(tokens['input']) + cacheOf(tokens, 'write')) + cached,
        cached,
        output: sum(tokens => numberOf(tokens['output']) + numberOf(tokens['reasoning'])),
      },
    }
  },
}
