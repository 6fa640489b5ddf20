import t from 'tap'
import type { z } from 'zod'
import * as address from '../../lib/config/scalars.ts'

/** Accepted values with what they become, and refused ones. */
const tables: Record<string, { schema: z.ZodType; good: [unknown, unknown][]; bad: unknown[] }> = {
  listener: {
    schema: address.listener,
    good: [
      ['127.0.0.1:3000', { host: '127.0.0.1', port: 3000 }],
      ['[::1]:0', { host: '::1', port: 0 }],
      ['localhost:80', { host: 'localhost', port: 80 }],
    ],
    bad: ['nowhere', ':3000', '127.0.0.1', '127.0.0.1:65536', '300.1.1.1:1', '::1:3000', '[nope]:1', 'a b:1', 3000],
  },
  network: {
    schema: address.network,
    good: ['10.0.0.0/8', '203.0.113.7', '::1', 'fd00::/8', '0.0.0.0/0'].map(n => [n, n] as [string, string]),
    bad: ['300.1.1.1/8', '10.0.0.0/33', '::/129', 'fe80::/', 'localhost', '', '1.2.3.4/8/8', 7],
  },
  'web address': {
    schema: address.webAddress,
    good: [
      ['http://127.0.0.1:9', 'http://127.0.0.1:9'],
      ['https://A.example/v1//', 'https://a.example/v1'],
    ],
    bad: ['not a url', 'ftp://a', 'http://a?x=1', 'http://a#f', 'http://u:p@a', 'a.example', '', null],
  },
  'header name': { schema: address.headerName, good: [['X-Api-Key', 'x-api-key']], bad: ['a b', 'a:', '', 'ä', 1] },
}

for (const [name, { schema, good, bad }] of Object.entries(tables)) {
  t.test(name, async t => {
    for (const [value, expected] of good) t.same(schema.safeParse(value).data, expected, JSON.stringify(value))
    for (const value of bad) t.equal(schema.safeParse(value).success, false, `${JSON.stringify(value)} is refused`)
  })
}
