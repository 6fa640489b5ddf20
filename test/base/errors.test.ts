import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ERRORS, type ErrorName, type ErrorRow, renderError } from '../../lib/base/errors.ts'

/** What the arguments of each text are called. */
const ARGUMENTS: Partial<Record<ErrorName, string[]>> = {
  url: ['<METHOD>', '<path>'],
  group: ['<group>'],
  rate: ['x', 'y'],
  concurrency: ['<y>'],
  too_large: ['<size>'],
  model_restricted: ['<model>'],
  generation_unknown: ['<id>'],
  model_unknown: ['<model>'],
  field: ['<field>'],
  no_channel: ['<group>', '<model>'],
  channels_resting: ['<group>', '<model>'],
  untranslatable: ['<field>'],
  unpriced: ['<model>'],
  quota: ['<amount>'],
  estimate: ['<amount>', '<amount>'],
}

t.test('docs/errors.md has the same rows as the code', async t => {
  const doc = readFileSync(path.join(import.meta.dirname, '../../docs/errors.md'), 'utf8')
  const documented = doc.split('\n').filter(line => /^\| `/.test(line))
  const rows = (Object.entries(ERRORS) as [ErrorName, ErrorRow][]).map(
    ([name, row]) => `| \`${name}\` | ${row.status} | \`${row.text(...(ARGUMENTS[name] ?? []))}\` | ${row.retry} |`,
  )
  t.same(documented, rows)
})

t.test('the envelope', async t => {
  const rows: [ErrorName, string[], boolean, boolean, object][] = [
    [
      'key',
      [],
      false,
      false,
      { error: { code: '', message: '无效的令牌 (request id: r1)', type: 'gateway_api_error' } },
    ],
    [
      'key',
      [],
      true,
      false,
      { error: { code: '', message: 'Invalid token (request id: r1)', type: 'gateway_api_error' } },
    ],
    [
      'key',
      [],
      false,
      true,
      { type: 'error', error: { code: '', message: '无效的令牌 (request id: r1)', type: 'gateway_api_error' } },
    ],
    [
      'ip',
      [],
      true,
      false,
      { error: { code: '', message: '您的 IP 不在令牌允许访问的列表中 (request id: r1)', type: 'gateway_api_error' } },
    ],
    [
      'url',
      ['POST', '/a"\\\n'],
      false,
      false,
      {
        error: {
          code: '',
          message: 'Invalid URL (POST /a"\\\n) (request id: r1)',
          type: 'invalid_request_error',
          param: '',
        },
      },
    ],
  ]
  for (const [name, args, english, messages, want] of rows)
    t.same(JSON.parse(renderError(name, args, 'r1', english, messages)), want)
})
