import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { numberOf, textOf, type Tool } from '../tool.ts'

/** Qwen Code: speaks chat. */
export const qwenCode: Tool = {
  name: 'qwen-code',
  package: '@qwen-code/qwen-code',
  version: '0.24.4',
  settings: '`--auth-type openai`, `OPENAI_BASE_URL`, `OPENAI_API_KEY`',
  bin: 'qwen',
  protocol: 'chat',
  requests: { prompt: 1, beside: '' },
  shell: { name: 'run_shell_command', args: command => ({ command, description: 'Runs a command' }) },
  files: () => ({
    '.qwen/settings.json': JSON.stringify({
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false },
      // else it waits a minute and more behind each 429, ten times over
      model: { generationConfig: { maxRetries: 1, retryInitialDelayMs: 1_000 } },
      // else it asks behind an answer what is worth remembering
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
    }),
  }),
  args: ({ model, prompt }) => ['--auth-type', 'openai', '-m', model, '--yolo', '-o', 'json', prompt],
  env: ({ gateway, key }) => ({
    OPENAI_BASE_URL: `${gateway}/v1`,
    OPENAI_API_KEY: key,
    QWEN_CODE_SUPPRESS_YOLO_WARNING: '1',
  }),
  read(stdout, stderr) {
    const events = listOf(stdout)
    const last = events.findLast(event => event['type'] === 'result')
    const failed = last === undefined || last['is_error'] === true
    const usage = fieldsOf(last?.['usage'])
    return {
      text: failed ? '' : textOf(last['result']),
      error: failed ? textOf(last?.['error'] ?? last?.['result']) || stderr || stdout : '',
      usage: {
        input: numberOf(usage['input_tokens']),
        cached: numberOf(usage['cache_read_input_tokens']),
        output: numberOf(usage['output_tokens']),
      },
    }
  },
}

/** It prints one list of events. */
function listOf(stdout: string): Record<string, unknown>[] {
  try {
    const events: unknown = JSON.parse(stdout)
    return Array.isArray(events) ? events.map(fieldsOf) : []
  } catch {
    return []
  }
}
