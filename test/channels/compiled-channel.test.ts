import t from 'tap'
import { CompiledChannel } from '../../lib/world/compiled-channel.ts'
import { channel } from './support.ts'

t.test('addresses are split once, for pools and paths', async t => {
  const rows: [string, string, string][] = [
    ['https://up.example', 'https://up.example', ''],
    ['https://up.example/', 'https://up.example', ''],
    ['http://up.example:8080/base/path/', 'http://up.example:8080', '/base/path'],
    ['https://up.example:443/x', 'https://up.example', '/x'],
    ['http://[::1]:9/v', 'http://[::1]:9', '/v'],
  ]
  for (const [baseUrl, origin, basePath] of rows) {
    const compiled = new CompiledChannel(channel('a', { baseUrl, authHeader: 'X-Api-Key' }), 1)
    t.match(compiled, {
      name: 'a',
      connection: { origin, proxy: null },
      basePath,
      keys: [{ secret: 'up-a', index: 0 }],
      authHeader: 'x-api-key',
      enabled: true,
      index: 1,
    })
  }
})
