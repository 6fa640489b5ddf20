import { writeFileSync } from 'node:fs'
import t from 'tap'
import { createLogger } from '../../lib/base/log.ts'
import { loadConfig, parseConfig } from '../../lib/config/config.ts'
import { configSchema } from '../../lib/config/schema.ts'
import { prepareStore, reloadedConfig, reread, settingOf } from '../../lib/process/prepare.ts'
import { Metrics } from '../../lib/terms/metrics.ts'
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

t.test(
  'a reload says which settings are others, by their names in the file, and which rows the catalogue file wrote',
  async t => {
    const written = (change: object, group: string) => {
      writeFileSync(`${folder}/g.yaml`, JSON.stringify({ secret: 'a-secret-for-tests', catalog: 'c.yaml', ...change }))
      writeFileSync(`${folder}/c.yaml`, JSON.stringify({ groups: [{ name: 'stays' }, { name: group }] }))
    }
    const folder = t.testdir({})
    written({}, 'one')
    const options = { configFile: `${folder}/g.yaml`, env: {} }
    const config = loadConfig(options.configFile, {})
    const log = createLogger('silent', { write: () => {} })
    const store = openStore('sqlite::memory:', { secret: config.secret })
    t.teardown(() => store.close())
    t.same(await prepareStore(store, config, {}, log), { groups: ['stays', 'one'] })
    const parts = { config, options, log, metrics: new Metrics(), store }
    t.match(await reread(config, parts), { settings: [], rows: {} }, 'nothing is another')
    written({ timeouts: { idle: '7s' }, usage_retention: '3d', client_gone: { drain: '5s' } }, 'two')
    const { settings, rows } = await reread(config, parts)
    t.same(settings.sort(), ['client_gone', 'timeouts', 'usage_retention'])
    t.same(rows, { groups: ['two'] })
  },
)

t.test('the names of settings that a reload can tell are those of the file', t => {
  const config = parseConfig('{}', 'g.yaml', {})
  const inFile = new Set(Object.keys(configSchema.shape))
  const names = (Object.keys(config) as (keyof typeof config)[]).map(settingOf)
  const ofProgram = ['own_secret', 'payer', 'mailbox', 'journal_limit_bytes', 'export_bytes_per_s'] // no setting, or read at start only
  t.same(
    names.filter(name => !inFile.has(name) && !ofProgram.includes(name)),
    [],
  )
  t.end()
})
