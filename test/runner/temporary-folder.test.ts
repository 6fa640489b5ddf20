import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { folderInMemory } from './temporary-folder.ts'

t.test('a folder is made and removed with what is in it', async t => {
  const parent = t.testdir()
  const folder = folderInMemory(parent, 1)!
  mkdirSync(join(folder.path, 'deep'))
  writeFileSync(join(folder.path, 'deep', 'file'), 'x')
  t.same(readdirSync(folder.path), ['deep'], 'the program of the trial is gone')
  folder.remove()
  t.notOk(existsSync(folder.path))
})

t.test('the files stay where they are when memory is short or missing', async t => {
  const parent = t.testdir()
  t.equal(folderInMemory(parent, Number.MAX_SAFE_INTEGER), null)
  t.equal(folderInMemory(join(parent, 'missing'), 1), null)
  t.same(readdirSync(parent), [])
})
