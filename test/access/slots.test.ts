import t from 'tap'
import { Slots } from '../../lib/access/slots.ts'
import { RateState } from '../../lib/access/window.ts'

const NOW = 1_790_000_000_000
const LIMIT = 100

/** A store that takes everything. */
function take(slots: Slots, now: number, need: number, ahead = true) {
  const offer = slots.offer(now, LIMIT, need, ahead)
  const { inHand } = slots
  slots.sent(offer)
  slots.taken(offer, now, inHand - slots.inHand)
  return offer
}

const counted = (slots: Slots, now: number) => new RateState(slots.state).of(1).used(now)

t.test('slots lapse: later nobody counts them any more', async t => {
  const slots = new Slots(1)
  take(slots, NOW, 2)
  t.equal(slots.use(NOW + 10_999, LIMIT), true)
  t.equal(slots.use(NOW + 11_000, LIMIT), false)
  t.equal(take(slots, NOW + 11_000, 1).inHand, 1, 'and are not kept')
  t.equal(counted(slots, NOW + 11_000), 2, 'the one that was used, and the new one')
})

t.test('a use counts where it was, and what is in hand where it ends', async t => {
  const slots = new Slots(1)
  take(slots, NOW, 3)
  slots.use(NOW, LIMIT)
  slots.use(NOW + 4000, LIMIT)
  take(slots, NOW + 5000, 0)
  const parts: [atS: number, counted: number][] = [
    [5, 3],
    [60, 3],
    [61, 2],
    [64, 2],
    [65, 1],
    [75, 1],
    [76, 0],
  ]
  for (const [atS, want] of parts) t.equal(counted(slots, NOW + atS * 1000), want, `${atS} s`)
  take(slots, NOW + 5000, 0, false)
  t.equal(counted(slots, NOW + 5000), 2, 'given back')
  t.equal(slots.inHand, 0)
})

t.test('what is used while an offer is under way is used once', async t => {
  const slots = new Slots(1)
  take(slots, NOW, 5)
  const offer = slots.offer(NOW + 1000, LIMIT, 0, true)
  slots.sent(offer)
  t.equal(slots.use(NOW + 1000, LIMIT), true)
  t.equal(slots.use(NOW + 1000, LIMIT), true)
  slots.taken(offer, NOW + 1000, 2)
  t.equal(slots.inHand, 3)
  take(slots, NOW + 2000, 0, false)
  t.equal(counted(slots, NOW + 2000), 2)
})

t.test('a doubt comes out: taken, not taken, or nobody knows', async t => {
  for (const [how, version, want] of [
    ['taken', 8, 6],
    ['not taken', 7, 6],
    ['nobody knows', 9, 9],
  ] as const) {
    const slots = new Slots(1)
    take(slots, NOW, 5)
    for (let i = 0; i < 3; i++) slots.use(NOW, LIMIT)
    const before = slots.state
    const offer = slots.offer(NOW + 1000, LIMIT, 3, true)
    slots.sent(offer)
    slots.inDoubt(offer, 7)
    slots.see(version === 7 ? before : offer.text, version)
    // three uses, two slots in hand that go back, three that wait and get theirs now
    const again = take(slots, NOW + 2000, 3, false)
    t.equal(again.granted, 3)
    const least = how === 'nobody knows' ? want : 6
    t.ok(counted(slots, NOW + 2000) >= least, how)
    if (how !== 'nobody knows') t.equal(counted(slots, NOW + 2000), want, `${how}: exactly`)
  }
})

t.test('two offers in doubt in a row: whichever the store took counts once', async t => {
  for (const which of ['neither', 'the first', 'the second']) {
    const slots = new Slots(1)
    take(slots, NOW, 5)
    for (let i = 0; i < 3; i++) slots.use(NOW, LIMIT)
    const texts = [slots.state]
    for (const ms of [1000, 2000]) {
      const offer = slots.offer(NOW + ms, LIMIT, 0, true)
      slots.sent(offer)
      slots.use(NOW + ms, LIMIT)
      slots.inDoubt(offer, 7)
      texts.push(offer.text)
      slots.see(texts[0] as string, 7) // not there, or not yet
    }
    const took = ['neither', 'the first', 'the second'].indexOf(which)
    slots.see(texts[took] as string, took === 0 ? 7 : 8)
    take(slots, NOW + 3000, 0, false)
    t.equal(counted(slots, NOW + 3000), 5, which)
    t.equal(counted(slots, NOW + 61_000), 2, `${which}: each where it was`)
  }
})

t.test('more offers in doubt than are remembered: what was taken counts twice rather than never', async t => {
  const slots = new Slots(1)
  take(slots, NOW, 5)
  const before = slots.state
  const texts: string[] = []
  for (let ms = 1000; ms <= 6000; ms += 1000) {
    slots.use(NOW, LIMIT)
    const offer = slots.offer(NOW + ms, LIMIT, 0, true)
    slots.sent(offer)
    slots.inDoubt(offer, 7)
    texts.push(offer.text)
    slots.see(before, 7)
  }
  slots.see(texts[0] as string, 8)
  take(slots, NOW + 7000, 0, false)
  t.equal(counted(slots, NOW + 7000), 10, 'five in the text that nobody knows any more, and the five uses')
})

t.test('two processes that offer the same in the same moment do not take the one for the other', async t => {
  const [a, b] = [new Slots(1), new Slots(1)]
  const [ofA, ofB] = [a.offer(NOW, 1, 1, true), b.offer(NOW, 1, 1, true)]
  a.sent(ofA)
  b.sent(ofB)
  a.inDoubt(ofA, 0) // and not taken
  b.taken(ofB, NOW, 0)
  a.see(ofB.text, 1)
  t.equal(b.use(NOW, 1), true)
  t.equal(a.offer(NOW + 1, 1, 1, true).granted, 0)
})
