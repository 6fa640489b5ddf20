import t from 'tap'
import { type RestEvent, type RestNote, Rests } from '../../lib/channels/rests.ts'
import { TestClock } from '../support/clock.ts'

const AT = { channel: 'c', key: '', model: 'm' }
const S = 1000

/** Accounts are numbers; `mostAccounts` bounds the memory. */
function setUp(more: { mostAccounts?: number } = {}) {
  const clock = new TestClock()
  const told: RestEvent[] = []
  const notes: RestNote[] = []
  let forgotten = 0
  const rests = new Rests({
    clock,
    tell: event => told.push(event),
    onRest: note => notes.push(note),
    onForgotten: () => forgotten++,
    ...more,
  })
  const now = () => clock.monotonic()
  return {
    clock,
    rests,
    told,
    notes,
    forgotten: () => forgotten,
    at: (seconds: number) => clock.advance(seconds * S - now()),
    busy: (account: number, retryAfterS = 0, at = AT, sentMs = now()) => rests.busy(at, account, sentMs, retryAfterS),
    answered: (account: number, sentMs = now(), at = AT) => rests.answered(at, account, sentMs),
    /** As the choice of a channel does it. */
    mayAsk: (account: number, { channel, key, model } = AT, asTurn = true) =>
      now() >= rests.untilMs || rests.mayAsk(channel, key, model, account, now(), asTurn),
    /** Asks, and is sent where it may. */
    passes(account: number): boolean {
      const may = this.mayAsk(account)
      if (may) rests.admit(AT, account, now())
      return may
    },
    waitS: (account: number) => (rests.restOf(AT, account, now())?.ms ?? 0) / S,
    why: (account: number) => rests.restOf(AT, account, now())?.why ?? null,
  }
}

t.test('for how long the account rests that was told so', async t => {
  type Said = [atS: number, retryAfterS: number, sentS?: number]
  const rows: [name: string, said: Said[], untilS: number][] = [
    ['for the time that was named', [[0, 30]], 30],
    ['at most ten minutes', [[0, 1e9]], 600],
    ['without a time for five seconds', [[0, 0]], 5],
    [
      'each further time twice as long',
      [
        [0, 0],
        [6, 0],
        [17, 0],
      ],
      37,
    ],
    ['up to a minute', [0, 10, 30, 60, 110, 180, 250].map((at): Said => [at, 0]), 310],
    [
      'what was under way at the same time is one time',
      [
        [1, 0, 0],
        [1.1, 0, 0],
        [1.2, 0, 0],
      ],
      6,
    ],
    [
      'but a longer time named to it counts',
      [
        [1, 2, 0],
        [1.1, 40, 0],
        [1.2, 3, 0],
      ],
      41.1,
    ],
    [
      'a minute after its end it begins anew',
      [
        [0, 0],
        [65, 0],
      ],
      70,
    ],
  ]
  for (const [name, said, untilS] of rows) {
    const { at, busy, mayAsk, waitS } = setUp()
    for (const [atS, retryAfterS, sentS] of said) {
      at(atS)
      busy(1, retryAfterS, AT, (sentS ?? atS) * S)
    }
    t.equal(waitS(1), untilS - (said.at(-1) as Said)[0], name)
    at(untilS - 0.001)
    t.notOk(mayAsk(1), name)
    at(untilS)
    t.ok(mayAsk(1), name)
    t.equal(waitS(1), 0)
  }
})

t.test('a first rest without a time, or of a second, is a guess: one request finds out', async t => {
  for (const named of [0, 1]) {
    const { busy, mayAsk, answered, rests, clock, at } = setUp()
    const mayFindOut = (account: number) => rests.mayFindOut('c', 'm', account, clock.monotonic())
    t.notOk(mayFindOut(1), 'nothing rests')
    busy(1, named)
    t.same([mayAsk(1), mayFindOut(1), mayFindOut(2)], [false, true, false])
    rests.admit(AT, 1, clock.monotonic())
    t.notOk(mayFindOut(1), 'one at a time')
    rests.giveBack(AT, 1, clock.monotonic())
    t.ok(mayFindOut(1), 'which was not sent')
    rests.admit(AT, 1, clock.monotonic())
    answered(1)
    t.ok(mayAsk(1), 'it was answered')
    busy(1, named)
    at(0.1)
    rests.admit(AT, 1, clock.monotonic())
    busy(1, named)
    t.same([mayAsk(1), mayFindOut(1)], [false, false], 'it was not, and this is no guess any more')
  }
  const { busy, rests, clock, answered, mayAsk } = setUp()
  busy(1, 2)
  t.notOk(rests.mayFindOut('c', 'm', 1, clock.monotonic()), 'a time was named')
  answered(1)
  t.notOk(mayAsk(1), 'which no answer ends')
  rests.rest(3, 'c', 'm', 60 * S, 'disputed')
  busy(3)
  t.notOk(rests.mayFindOut('c', 'm', 3, clock.monotonic()), 'the rest was ordered')
})

t.test('an answer makes the next rest short again', async t => {
  const { at, busy, answered, waitS } = setUp()
  busy(1)
  at(6)
  answered(1)
  busy(1)
  t.equal(waitS(1), 5)
  at(12)
  answered(1, 5 * S) // sent before it was told
  busy(1)
  t.equal(waitS(1), 10)
})

t.test('others rest for two seconds, once in ten minutes for a channel and model, whoever causes it', async t => {
  const { at, busy, mayAsk, waitS } = setUp()
  busy(1, 600)
  t.same([mayAsk(2), waitS(2)], [false, 2])
  at(2)
  t.ok(mayAsk(2))
  for (let second = 3; second < 600; second += 60) {
    at(second)
    busy(second, 600)
    t.ok(mayAsk(2), `at ${second} s`)
  }
  at(600)
  busy(1, 1)
  t.same([mayAsk(2), waitS(2)], [false, 1], 'no longer than was named')
  const other = { channel: 'c', key: '', model: 'other' }
  t.ok(mayAsk(2, other))
  busy(1, 600, other)
  t.notOk(mayAsk(2, other), 'each model has its own')
  t.ok(mayAsk(2, { channel: 'd', key: '', model: 'm' }))
})

t.test('an answer to another account ends the two seconds', async t => {
  const { at, busy, answered, mayAsk } = setUp()
  at(1)
  busy(1, 600)
  answered(2, 0)
  t.notOk(mayAsk(2), 'what was sent before says nothing')
  answered(2)
  t.ok(mayAsk(2))
  t.notOk(mayAsk(1))
})

t.test('for all only after three accounts', async t => {
  const told = (set: ReturnType<typeof setUp>, accounts: number[]) => {
    for (const account of accounts) set.busy(account, 60)
  }
  const rows: [name: string, said: (set: ReturnType<typeof setUp>) => void, areAll: boolean][] = [
    ['two', set => told(set, [1, 2, 1, 2]), false],
    ['three', set => told(set, [1, 2, 3]), true],
    [
      'three of whom one was long ago',
      set => {
        set.busy(1, 600)
        set.at(61)
        set.busy(2, 60)
        set.busy(3, 60)
      },
      false,
    ],
    [
      'three, and another one was answered in between',
      set => {
        set.busy(1, 60)
        set.busy(2, 60)
        set.at(1)
        set.answered(4)
        set.busy(3, 60)
      },
      false,
    ],
    [
      'three, and what was sent before was answered in between',
      set => {
        set.at(1)
        set.busy(1, 60)
        set.busy(2, 60)
        set.answered(4, 500)
        set.busy(3, 60)
      },
      true,
    ],
  ]
  for (const [name, said, areAll] of rows) {
    const set = setUp()
    said(set)
    set.clock.advance(2 * S)
    t.equal(set.mayAsk(9, AT, false), !areAll, name)
    t.equal(set.notes.filter(({ scope }) => scope === 'all').length, areAll ? 1 : 0, name)
  }
})

t.test('while all rest one request a second is let through, of those in turn that were not told', async t => {
  const set = setUp()
  for (const account of [1, 2, 3]) set.busy(account, 600)
  set.at(10)
  t.ok(set.passes(4), 'the first one at once')
  t.same(
    [4, 5, 6, 1].map(account => set.passes(account)),
    [false, false, false, false],
  )
  t.equal(set.waitS(5), 2)
  set.at(11)
  t.same(
    [1, 4, 5, 6, 4].map(account => set.passes(account)),
    [false, false, true, false, false],
  )
  set.at(12)
  t.same(
    [1, 5, 4, 6].map(account => set.passes(account)),
    [false, false, false, true],
  )
  set.at(13)
  t.same(
    [1, 6, 5, 4].map(account => set.passes(account)),
    [false, false, false, true],
  )
  set.at(14)
  t.notOk(set.passes(1), 'others will come back')
  set.at(16)
  t.ok(set.passes(1), 'one that was told is let through when no other comes')
  t.notOk(set.passes(2))
})

t.test('the first answer ends it for all but those that were told', async t => {
  for (const [who, name] of [
    [4, 'one that was not told'],
    [1, 'one that was told'],
  ] as const) {
    const set = setUp()
    for (const account of [1, 2, 3]) set.busy(account, 600)
    set.at(10)
    t.ok(set.passes(who))
    set.at(10.5)
    set.answered(who, 10 * S)
    t.same(
      [1, 2, 3, 4, 5, 6].map(account => set.mayAsk(account)),
      [false, false, false, true, true, true],
      name,
    )
    set.busy(5, 60)
    set.busy(6, 60)
    t.ok(set.mayAsk(4), 'the three are counted anew')
    set.busy(7, 60)
    t.notOk(set.mayAsk(4, AT, false))
  }
})

t.test('one that was let through and told to wait makes it longer; its shortest time is believed first', async t => {
  const set = setUp()
  set.busy(1, 600)
  set.busy(2, 20)
  set.busy(3, 600)
  set.at(15)
  t.notOk(set.mayAsk(9, AT, false))
  t.ok(set.passes(4))
  set.busy(4, 10)
  set.at(21)
  t.notOk(set.mayAsk(9, AT, false))
  set.at(25)
  t.ok(set.mayAsk(9, AT, false))
  t.notOk(set.mayAsk(1))
})

t.test('a turn that was not used is given back, and does not make the next one of that account earlier', async t => {
  const set = setUp()
  for (const account of [1, 2, 3]) set.busy(account, 600)
  set.at(10)
  t.ok(set.passes(4))
  t.notOk(set.passes(5))
  set.rests.giveBack(AT, 4, set.clock.monotonic())
  t.notOk(set.passes(4))
  t.ok(set.passes(5))
})

t.test('what must not be one of those that are let through: a hedge, a request that counts', async t => {
  const set = setUp()
  for (const account of [1, 2, 3]) set.busy(account, 600)
  set.at(10)
  t.notOk(set.mayAsk(4, AT, false))
  t.ok(set.mayAsk(4))
})

t.test('others do not rest where the upstream named no time', async t => {
  const { busy, mayAsk, waitS } = setUp()
  busy(1)
  t.same([waitS(1), mayAsk(2), waitS(2)], [5, true, 0])
  busy(3, 600)
  t.same([mayAsk(2), waitS(2)], [false, 2], 'the ten minutes have not begun')
})

t.test('keys of a channel rest each by itself, and make others wait once in ten minutes together', async t => {
  const set = setUp()
  const [one, two] = ['k1', 'k2'].map(key => ({ ...AT, key })) as [typeof AT, typeof AT]
  set.busy(1, 600, one)
  t.same([set.mayAsk(1, one), set.mayAsk(1, two), set.mayAsk(2, one), set.mayAsk(2, two)], [false, true, false, true])
  set.busy(1, 600, two)
  t.same([set.mayAsk(1, two), set.mayAsk(2, two)], [false, true])
})

t.test('a rest that is ordered', async t => {
  const { at, rests, mayAsk, waitS, why, answered, busy, notes } = setUp()
  rests.rest(1, 'c', 'm', 60 * S, 'disputed')
  t.same([mayAsk(1), mayAsk(2), waitS(1), why(1), why(2)], [false, true, 60, 'ordered', null])
  t.same(notes, [{ at: AT, scope: 'account', ms: 60 * S, why: 'disputed' }])
  at(1)
  answered(1)
  t.notOk(mayAsk(1), 'an answer does not end it')
  rests.rest(null, 'c', 'm', 30 * S, 'disputed')
  t.same([mayAsk(2), why(2)], [false, 'ordered'])
  answered(3)
  t.notOk(mayAsk(2))
  busy(1, 600)
  at(31)
  t.same([mayAsk(1), why(1), mayAsk(2)], [false, 'busy', true])
})

t.test('all processes of a gateway know of it', async t => {
  const one = setUp()
  const two = setUp()
  two.clock.advance(1e6) // clocks of processes have nothing in common
  const all = () => {
    for (const event of one.told.splice(0)) two.rests.hear(structuredClone(event))
    for (const event of two.told.splice(0)) one.rests.hear(structuredClone(event))
  }
  const same = () => [1, 2, 3, 4, 5].map(account => [one.mayAsk(account, AT, false), two.mayAsk(account, AT, false)])
  const rest = [false, false]
  const free = [true, true]
  one.busy(1, 30)
  all()
  t.same(same(), [rest, rest, rest, rest, rest])
  for (const { clock } of [one, two]) clock.advance(2 * S)
  t.same(same(), [rest, free, free, free, free])
  two.busy(2, 30)
  one.busy(3, 30)
  all()
  t.same(same(), [rest, rest, rest, rest, rest], 'accounts are counted together')
  t.ok(one.passes(4))
  all()
  t.notOk(two.passes(5), 'so are those that are let through')
  one.answered(4)
  all()
  t.same(same(), [rest, rest, rest, free, free])
  two.rests.rest(5, 'c', 'm', 10 * S, 'disputed')
  all()
  t.same(same(), [rest, rest, rest, free, rest])
  t.equal(one.told.length + two.told.length, 0, 'what was heard is not told again')
})

t.test('what changes nothing is not told to others', async t => {
  const { busy, told, answered, at } = setUp()
  at(1)
  for (let i = 0; i < 1000; i++) busy(1, 30, AT, 0)
  t.equal(told.length, 1)
  for (let i = 0; i < 1000; i++) answered(2, 500)
  t.equal(told.length, 1)
  for (let i = 0; i < 1000; i++) answered(2)
  t.equal(told.length, 2)
})

t.test('the memory is bounded, and what it forgets is counted', async t => {
  const { busy, mayAsk, forgotten, at } = setUp({ mostAccounts: 100 })
  for (let account = 1; account <= 250; account++) busy(account, 600)
  t.equal(forgotten(), 150)
  at(599)
  t.same([mayAsk(1, AT, false), mayAsk(250, AT, false)], [false, false])
  for (let account = 300; account < 1000; account++) mayAsk(account) // many who wait for a turn
  t.ok(mayAsk(1001) !== undefined)
})

t.test('a channel that changes, or is gone, has rested for the last time', async t => {
  const { busy, rests, mayAsk } = setUp()
  const other = { channel: 'cc', key: '', model: 'm' }
  busy(1, 600)
  busy(1, 600, other)
  rests.forget('c')
  t.same([mayAsk(1), mayAsk(1, other)], [true, false])
})

t.test('while nothing rests nobody asks further', async t => {
  const { rests, clock, busy, at } = setUp()
  t.ok(clock.monotonic() >= rests.untilMs)
  busy(1, 30)
  t.ok(clock.monotonic() < rests.untilMs)
  t.ok(clock.monotonic() < rests.mindsUntilMs)
  at(30)
  t.ok(clock.monotonic() >= rests.untilMs)
  at(120)
  t.ok(clock.monotonic() >= rests.mindsUntilMs)
})
