import t from 'tap'
import { createLogger } from '../../lib/base/log.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { prepareStore } from '../../lib/process/prepare.ts'
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
