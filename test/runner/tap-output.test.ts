import t from 'tap'
import { readTap } from './tap-output.ts'

const PASSES = `TAP version 14
# Subtest: a.test.ts
    # SEED=7
    # Subtest: adds
        ok 1 - one
        ok 2 - two {
        1..2
    ok 1 - adds # time=3.2ms

    1..1
ok 1 - a.test.ts # time=1500ms
# processor 2.25 a.test.ts

1..1
# time=1600ms`

const FAILS = `TAP version 14
# Subtest: b.test.ts
    # Subtest: adds
        ok 1 - one
        not ok 2 - two
          ---
          diff: |
            -2
            +3
          ...
        1..2
    not ok 1 - adds # time=3.2ms
    # Subtest: takes away
        ok 1 - three
        1..1
    ok 2 - takes away # time=3ms
    1..2
not ok 1 - b.test.ts # time=20ms
# { total: 2, pass: 1, fail: 1 }`

/** Of tests that run at once, each comes before its points. */
const AT_ONCE = `TAP version 14
# Subtest: c.test.ts
    ok 1 - good # time=3ms {
        ok 1 - one
        1..1
    }
    not ok 2 - bad # time=3ms {
        ok 1 - two
        not ok 2 - three
        1..2
    }
    1..2
not ok 1 - c.test.ts # time=20ms`

t.test('assertions are counted, files are timed, and what failed is left', async t => {
  t.same(readTap(PASSES), {
    passed: 2,
    failed: 0,
    files: [{ file: 'a.test.ts', s: 1.5 }],
    processor: [{ file: 'a.test.ts', s: 2.25 }],
    failures: '',
  })
  const { failures, ...fails } = readTap(FAILS)
  t.same(fails, { passed: 2, failed: 1, files: [{ file: 'b.test.ts', s: 0.02 }], processor: [] })
  t.match(
    failures,
    /^# Subtest: b\.test\.ts\n {4}# Subtest: adds\n {8}not ok 2 - two\n[\s\S]*\+3[\s\S]*\nnot ok 1 - b\.test\.ts/,
  )
  t.notMatch(failures, /one|three|takes away/)
  const atOnce = readTap(AT_ONCE)
  t.match(atOnce, { passed: 2, failed: 1, files: [{ file: 'c.test.ts' }] })
  t.match(atOnce.failures, /not ok 2 - bad[\s\S]*not ok 2 - three/)
  t.notMatch(atOnce.failures, /good|one|two/)
})

t.test('a process that ends early', async t => {
  const cut = readTap(FAILS.slice(0, FAILS.indexOf('takes away')))
  t.match(cut, { passed: 1, failed: 1, files: [], failures: 'not ok 2 - two' })
})
