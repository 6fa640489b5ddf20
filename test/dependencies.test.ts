import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

const root = path.resolve(import.meta.dirname, '..')

t.test('docs/dependencies.md names every dependency, and no other', async t => {
  const dependencies = ['package.json', 'test/clients/package.json'].flatMap(file => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(path.join(root, file), 'utf8'))
    return Object.keys({ ...dependencies, ...devDependencies })
  })
  const doc = readFileSync(path.join(root, 'docs/dependencies.md'), 'utf8')
  const named = doc
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| package'))
    .flatMap(line => (line.split('|')[1] as string).split(',').map(name => name.trim()))
  t.same(named.sort(), dependencies.sort())
})
