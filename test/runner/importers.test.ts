import path from 'node:path'
import t from 'tap'
import { importers } from './importers.ts'

t.test(
  'test files that need packages of test/clients are found by their imports, also through other files',
  async t => {
    const folder = t.testdir({
      'plain.test.ts': `import t from 'tap'\nimport './shared.ts'`,
      'straight.test.ts': `import OpenAI from 'openai'`,
      'deep.test.ts': `import { azure } from 'openai/azure'`,
      'typed.test.ts': `import type { Page } from 'playwright-core'`,
      'late.test.ts': `const { chromium } = await import('playwright-core')`,
      'file.test.ts': `createRequire(import.meta.url).resolve('openai/package.json')`,
      'through.test.ts': `import { ask } from './support/ask.ts'`,
      'circle.test.ts': `import './shared.ts'`,
      'alike.test.ts': `import 'openai-other'`,
      'folder.test.ts': `t.equal(text, "from './support'")`,
      'shared.ts': `import './circle.test.ts'`,
      support: { 'ask.ts': `export { ask } from '../straight.test.ts'` },
    })
    const names = 'plain straight deep typed late file through circle alike folder'.split(' ')
    const found = importers(
      names.map(name => path.join(folder, `${name}.test.ts`)),
      ['openai', 'playwright-core'],
    )
    t.strictSame(
      found.map(file => path.basename(file, '.test.ts')),
      ['straight', 'deep', 'typed', 'late', 'file', 'through'],
    )
  },
)

t.test('files of this project', async t => {
  const asked = ['test/sdk/openai.test.ts', 'test/protocols/server-tools.test.ts', 'test/base/money.test.ts']
  t.strictSame(importers(asked, ['openai']), asked.slice(0, 2))
})
