import t from 'tap'
import { Turns } from '../../lib/access/turns.ts'

/** Work that ends when told. */
function works(turns: Turns, names: string[]) {
  const begun: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const done = names.map(name =>
    turns.take(() => {
      begun.push(name)
      return new Promise<string>((resolve, reject) => {
        ends.set(name, error => (error === undefined ? resolve(name) : reject(error)))
      })
    }),
  )
  return { begun, done, end: (name: string, error?: Error) => ends.get(name)?.(error) }
}

t.test('so many at once, the others in the order they came', async t => {
  const { begun, done, end } = works(new Turns(2, 10), ['a', 'b', 'c', 'd'])
  t.same(begun, ['a', 'b'])
  end('b')
  t.equal(await done[1], 'b')
  t.same(begun, ['a', 'b', 'c'])
  end('a')
  end('c')
  await done[2]
  t.same(begun, ['a', 'b', 'c', 'd'])
  end('d')
  t.same(await Promise.all(done), ['a', 'b', 'c', 'd'])
})

t.test('work that fails frees its place', async t => {
  const { begun, done, end } = works(new Turns(1, 10), ['a', 'b'])
  end('a', new Error('no'))
  await t.rejects(done[0] as Promise<string>, { message: 'no' })
  t.same(begun, ['a', 'b'])
  end('b')
  t.equal(await done[1], 'b')
})

t.test('a place handed over is not taken twice', async t => {
  const turns = new Turns(1, 10)
  const first = works(turns, ['a', 'b'])
  first.end('a')
  await first.done[0]
  const second = works(turns, ['c'])
  t.same([first.begun, second.begun], [['a', 'b'], []])
  first.end('b')
  await first.done[1]
  t.same(second.begun, ['c'])
})

t.test('the line has an end', async t => {
  const turns = new Turns(1, 2)
  const { end, done } = works(turns, ['a', 'b'])
  t.equal(turns.full, false)
  works(turns, ['c'])
  t.equal(turns.full, true)
  end('a')
  await done[0]
  t.equal(turns.full, false)
})
