import type { Protocol } from '../../../lib/protocols/names.ts'
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { linesOf, numberOf, textOf, type Tool } from '../tool.ts'

/** The command line of Cline, with providers that speak different protocols. */
const withProvider = (provider: string, protocol: Protocol, path: string): Tool => ({
  name: `cline-${provider}`,
  folder: 'cline',
  package: 'cline',
  version: '3.0.65',
  settings: `the provider \`${provider}\`, its base URL with \`${path || '/'}\``,
  bin: 'cline',
  protocol,
  requests: { prompt: 1, beside: '' },
  shell: { name: 'run_commands', args: command => ({ commands: [command] }) },
  // what `cline auth` writes
  files: ({ gateway, key, model }) => ({
    '.cline/data/settings/providers.json': JSON.stringify({
      version: 1,
      lastUsedProvider: provider,
      modes: {},
      providers: {
        [provider]: {
          settings: { provider, apiKey: key, model, baseUrl: `${gateway}${path}` },
          updatedAt: '2026-11-24T00:00:00.000Z',
          tokenSource: 'manual',
        },
      },
    }),
  }),
  args: ({ prompt }) => ['--json', prompt],
  env: () => ({ CLINE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }),
  read(stdout, stderr) {
    const events = linesOf(stdout)
    const last = events.findLast(event => event['type'] === 'run_result')
    const failed = last?.['finishReason'] !== 'completed'
    const errors = events.filter(
      event => /error/.test(String(event['type'])) || fieldsOf(event['event'])['type'] === 'error',
    )
    const usage = fieldsOf(last?.['usage'])
    const cached = numberOf(usage['cacheReadTokens'])
    return {
      text: failed ? '' : textOf(last?.['text']),
      error: failed ? JSON.stringify(errors.length > 0 ? errors : last) || stderr || stdout : '',
      usage: { input: numberOf(usage['inputTokens']), cached, output: numberOf(usage['outputTokens']) },
    }
  },
})

export const clines: readonly Tool[] = [
  withProvider('openai-native', 'responses', '/v1'),
  withProvider('anthropic', 'messages', ''),
]
