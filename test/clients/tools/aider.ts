import type { Tool } from '../tool.ts'

/** aider, from PyPI: speaks chat. */
export const aider: Tool = {
  name: 'aider',
  package: 'aider-chat',
  registry: 'pypi',
  version: '0.86.2',
  settings: '`--model openai/MODEL`, `OPENAI_API_BASE`, `OPENAI_API_KEY`',
  bin: 'aider',
  protocol: 'chat',
  requests: { prompt: 1, beside: '' },
  shell: { name: '', args: () => ({}) },
  without: { tool: 'it declares no tools, and reads its edits out of the text' },
  files: () => ({}),
  args: ({ model, prompt }) => [
    ...['--model', `openai/${model}`, '--edit-format', 'ask', '--message', prompt],
    ...[
      '--no-git',
      '--yes-always',
      '--no-pretty',
      '--no-check-update',
      '--analytics-disable',
      '--no-show-model-warnings',
    ],
    ...[
      '--no-show-release-notes',
      '--no-detect-urls',
      '--no-suggest-shell-commands',
      '--map-tokens',
      '0',
      '--timeout',
      '60',
    ],
  ],
  env: ({ gateway, key }) => ({
    OPENAI_API_BASE: `${gateway}/v1`,
    OPENAI_API_KEY: key,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  }),
  read(stdout, stderr) {
    const error = /^(?:litellm\.\w+|.*\bError\b).*$/ms.exec(stdout)?.[0] ?? ''
    return { text: error === '' ? stdout : '', error: error || (stdout.trim() === '' ? stderr : ''), usage: null }
  },
}
