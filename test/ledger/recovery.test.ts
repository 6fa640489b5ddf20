import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { settlement } from '../support/store.ts'
import { house, row } from './house.ts'

t.test('a folder that cannot be looked at for a moment does not end all later rounds', async t => {
  const { open, dead, key, clock, spent, said } = await house(t)
  const ledger = await open()
  const { statSync } = fs
  let failing = true
  fs.statSync = ((file: string, ...rest: []) => {
    if (failing && String(file).endsWith('gone'))
      throw Object.assign(new Error('EIO: i/o error, stat'), { code: 'EIO' })
    return statSync(file, ...rest)
  }) as typeof fs.statSync
  syncBuiltinESMExports()
  t.teardown(() => {
    fs.statSync = statSync
    syncBuiltinESMExports()
  })
  await dead('gone', [settlement(row(key, 10), 'gone', 10)])
  const rounds = async (done: () => boolean | Promise<boolean>) => {
    for (let i = 0; i < 100 && !(await done()); i++) {
      clock.advance(5_000)
      await new Promise(setImmediate)
    }
  }
  await rounds(() => said.some(text => text.includes('could not be applied')))
  t.equal(await spent(), 0)
  failing = false
  await rounds(async () => (await spent()) === 10)
  t.equal(await spent(), 10, 'applied by a later round')
  await ledger.stop()
})
