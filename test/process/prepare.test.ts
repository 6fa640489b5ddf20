import t from 'tap'
import { createLogger } from '../../lib/base/log.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { prepareStore, reloadedConfig } from '../../lib/process/prepare.ts'
import { openStore } from '../../lib/store/store.ts'

t.test('a start that leaves the tables to somebody else wants those of this version', async t => {
  const config = parseConfig(
    JSON.stringify({ store: 'mysql://gateway@localhost/books', migrate_on_start: false, secret: 'a-secret-for-tests' }),
    'config',
    {},
  )
  const log = createLogger('silent', { write: () => {} })
  const store = openStore('sqlite::memory:', { secret: config.secret })
  t.teardown(() => store.close())
  await t.rejects(prepareStore(store, config, {}, log), /it has no tables yet: run `gateway migrate`/)
  await store.migrate()
  await t.resolves(prepareStore(store, config, {}, log))
})

t.test('a reload logs which announcements were added and removed', async t => {
  const folder = t.testdir({ 'g.yaml': 'site: { announcements: [{ text: kept }, { text: new }] }' })
  const now = parseConfig('site: { announcements: [{ text: kept }, { text: old }] }', 'g.yaml', {})
  const lines: string[] = []
  const log = createLogger('info', { write: (line: string) => void lines.push(line) } as never)
  const options = { configFile: `${folder}/g.yaml`, env: {} }
  const next = reloadedConfig(now, options, log)
  t.match(JSON.parse(lines[0] as string), { added: ['new'], removed: ['old'] })
  reloadedConfig(next, options, log)
  t.equal(lines.length, 1, 'and nothing where they stay')
})
