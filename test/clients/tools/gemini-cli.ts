import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { jsonOf, numberOf, textOf, type Tool } from '../tool.ts'

/** Gemini CLI: speaks generate-content. */
export const geminiCli: Tool = {
  name: 'gemini-cli',
  package: '@google/gemini-cli',
  version: '0.61.0',
  settings: '`GOOGLE_GEMINI_BASE_URL`, `GEMINI_API_KEY`',
  bin: 'gemini',
  protocol: 'generate',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'run_shell_command', args: command => ({ command }) },
  search: { call: { name: 'google_web_search', args: query => ({ query }) } },
  files: ({ model }) => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      // it searches with a model of its own choice otherwise
      modelConfigs: {
        customAliases: {
          'web-search': { modelConfig: { model, generateContentConfig: { tools: [{ googleSearch: {} }] } } },
        },
      },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    }),
  }),
  args: ({ model, prompt }) => ['-m', model, '--yolo', '--output-format', 'json', '-p', prompt],
  env: ({ gateway, key }) => ({
    GEMINI_API_KEY: key,
    GOOGLE_GEMINI_BASE_URL: gateway,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  read(stdout, stderr) {
    const printed = jsonOf(stdout.slice(stdout.indexOf('{')))
    const models = Object.values(fieldsOf(fieldsOf(printed?.['stats'])['models'])).map(model =>
      fieldsOf(fieldsOf(model)['tokens']),
    )
    const sum = (name: string) => models.reduce((total, tokens) => total + numberOf(tokens[name]), 0)
    const text = textOf(printed?.['response'])
    // it prints each try with where it came from
    const error = /\{"error":.*\}$/m.exec(stderr)?.[0] ?? textOf(printed?.['error'])
    return {
      text,
      error: text === '' ? error || stderr || stdout : '',
      usage: { input: sum('prompt'), cached: sum('cached'), output: sum('candidates') + sum('thoughts') },
    }
  },
}
