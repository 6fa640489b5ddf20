import type { Protocol } from '../../../lib/protocols/names.ts'
import { jsonOf, textOf, type Tool } from '../tool.ts'

/** The command line of Continue, with each of its providers. */
const withProvider = (provider: string, protocol: Protocol, base: string): Tool => ({
  name: `continue-${provider}`,
  folder: 'continue',
  package: '@continuedev/cli',
  version: '1.5.47',
  settings: `\`provider: ${provider}\`, ${base}`,
  bin: 'cn',
  protocol,
  requests: { prompt: 1, beside: '' },
  shell: { name: 'Bash', args: command => ({ command }) },
  files: ({ gateway, key, model }) => ({
    'config.yaml': JSON.stringify({
      name: 'gateway',
      version: '1.0.0',
      schema: 'v1',
      models: [
        {
          name: 'gateway',
          provider,
          model,
          apiKey: key,
          apiBase: `${gateway}/v1`,
          roles: ['chat'],
          capabilities: ['tool_use'],
        },
      ],
    }),
  }),
  args: ({ home, prompt }) => ['--config', `${home}/config.yaml`, '--auto', '--format', 'json', '-p', prompt],
  // for Gemini it does not read `apiBase`
  env: ({ gateway }) => ({
    GOOGLE_GEMINI_BASE_URL: gateway,
    CONTINUE_TELEMETRY_ENABLED: '0',
    CONTINUE_METRICS_ENABLED: '0',
  }),
  read(stdout, stderr) {
    const told = jsonOf(stdout)
    const failed = told === null || told['status'] !== 'success'
    return {
      text: failed ? '' : textOf(told['response']),
      error: failed ? textOf(told?.['error'] ?? told?.['message']) || stderr || stdout : '',
      usage: null,
    }
  },
})

export const continues: readonly Tool[] = [
  withProvider('openai', 'chat', '`apiBase` with `/v1`'),
  withProvider('anthropic', 'messages', '`apiBase` with `/v1`'),
  withProvider('gemini', 'generate', '`GOOGLE_GEMINI_BASE_URL`'),
]
