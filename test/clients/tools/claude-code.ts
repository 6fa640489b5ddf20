import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { type Asked, headerIs, jsonOf, numberOf, textOf, type Tool } from '../tool.ts'

/** How often it asked which models there are, and was told. */
const discoveries = (sent: readonly Asked[]): number =>
  sent.filter(({ method, path, status }) => method === 'GET' && path === '/v1/models?limit=1000' && status > 0).length

/** Claude Code: speaks messages. */
const claudeCode: Tool = {
  name: 'claude-code',
  folder: 'claude-code',
  settings: '`ANTHROPIC_BASE_URL`, `ANTHROPIC_AUTH_TOKEN`',
  package: '@anthropic-ai/claude-code',
  version: '2.1.330',
  bin: 'claude',
  protocol: 'messages',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'Bash', args: command => ({ command, description: 'Runs a command' }) },
  // tools that the model has to look for first are not offered otherwise
  search: { call: { name: 'WebSearch', args: query => ({ query }) }, env: { ENABLE_TOOL_SEARCH: 'false' } },
  files: () => ({}),
  args: ({ prompt }) => ['-p', prompt, '--output-format', 'json', '--permission-mode', 'bypassPermissions'],
  env: ({ gateway, key, model }) => ({
    ANTHROPIC_BASE_URL: gateway,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    // root may let it do everything only in a sandbox
    IS_SANDBOX: '1',
  }),
  sends: sent => [
    ...headerIs('anthropic-version', '2023-06-01')(sent),
    ...(discoveries(sent) === 0 ? [] : ['it asked for models, and was not to']),
  ],
  read(stdout, stderr) {
    const result = jsonOf(stdout)
    const text = textOf(result?.['result'])
    const failed = result === null || result['is_error'] === true
    const usage = fieldsOf(result?.['usage'])
    const cached = numberOf(usage['cache_read_input_tokens'])
    return {
      text: failed ? '' : text,
      error: failed ? text || stderr || stdout : '',
      usage: {
        input: numberOf(usage['input_tokens']) + numberOf(usage['cache_creation_input_tokens']) + cached,
        cached,
        output: numberOf(usage['output_tokens']),
      },
    }
  },
}

/** The version of messages of October 2026, which its own requests do not name yet. */
const NEWER = '2026-10-21'

export const claudeCodes: readonly Tool[] = [
  claudeCode,
  {
    ...claudeCode,
    name: 'claude-code-newer-version',
    without: { search: 'as with the other settings' },
    settings: `the same, \`ANTHROPIC_CUSTOM_HEADERS="anthropic-version: ${NEWER}"\`, \`CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1\``,
    env: session => ({
      ...claudeCode.env(session),
      ANTHROPIC_CUSTOM_HEADERS: `anthropic-version: ${NEWER}`,
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
    }),
    sends: sent => [
      ...headerIs('anthropic-version', NEWER)(sent),
      ...(discoveries(sent) > 0 ? [] : ['it did not ask for models']),
    ],
  },
]
