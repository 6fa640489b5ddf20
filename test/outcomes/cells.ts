/**
 * What somebody pays when somebody is absent, slow or wrong: one row for each state of a request and of an order, one cell for
 * each of who and how. A cell says what is charged (or credited) and which tests prove it, or why it cannot happen.
 * `docs/lifecycle.md` shows the table (`npm run outcomes`), and `page.test.ts` sees to it that no cell is empty, that no state
 * is missing, and that every test which is named exists.
 */
import type { State } from '../../lib/exchange/relay/states.ts'
import type { OrderState } from '../../lib/terms/pay.ts'

export const WHO = ['client', 'upstream', 'store', 'payment provider'] as const
export type Who = (typeof WHO)[number]
export const HOW = ['absent', 'slow', 'wrong'] as const

/** A test: its file, below `test`, and its title as it stands there, `…` for what differs in each of several. */
export type Proof = readonly [file: string, title: string]
export type Cell = { readonly pays: string; readonly proofs: readonly Proof[] } | { readonly cannot: string }
export type Cells = readonly [absent: Cell, slow: Cell, wrong: Cell]
export type Row = Readonly<Record<Who, Cells>>

/** The stages before `dispatch`, which is the state `asking`. */
export const STAGES = [
  'route',
  'credential',
  'authenticate',
  'admit',
  'throttle',
  'readBody',
  'confirm',
  'chooseModel',
  'findMaker',
  'findCandidates',
  'price',
  'reserve',
] as const
type Stage = (typeof STAGES)[number]

const pays = (what: string, ...proofs: Proof[]): Cell => ({ pays: what, proofs })
const cannot = (why: string): Cell => ({ cannot: why })
const all = (cell: Cell): Cells => [cell, cell, cell]

const here = (title: string): Proof => ['outcomes/requests.test.ts', title]
const orders = (title: string): Proof => ['outcomes/orders.test.ts', title]
const leaving = (title: string): Proof => ['exchange/leaving.test.ts', title]
const left = (title: string): Proof => ['exchange/clients-that-leave.test.ts', title]
const broken = (title: string): Proof => ['exchange/broken.test.ts', title]

// --- who does not take part

const NO_PROVIDER = all(cannot('a request asks no payment provider'))
const NO_UPSTREAM = all(cannot('no upstream is asked before the hold'))
const NO_STORE = all(cannot('everything is in memory'))
const NO_UPSTREAM_OF_ORDER = all(cannot('an order asks no upstream'))

// --- stages

const NOTHING_WRONG = pays(
  'nothing: refused',
  here('what a client does wrong is refused before an upstream is asked, and costs nothing'),
)
const AT_ONCE = cannot('nothing is waited for')
const UPLOAD_LEFT = pays('nothing', here('a client that leaves in the middle of its body pays nothing'))
const LEFT_WHILE_ASKED = pays(
  'nothing',
  here('a client that leaves while the store is asked pays nothing, whatever was asked'),
)
const NOT_HIS = cannot('the client is not waited for')

const client = (absent: Cell, slow: Cell, wrong: Cell = NOTHING_WRONG): Cells => [absent, slow, wrong]
const inStage = (of: Cells, store: Cells = NO_STORE, upstream: Cells = NO_UPSTREAM): Row => ({
  client: of,
  upstream,
  store,
  'payment provider': NO_PROVIDER,
})

const KEY: Cells = [
  pays('nothing: 503', here('the store is … when a key is looked up, before and after the body: nothing is paid')),
  pays(
    'nothing: 503 after a second',
    ['exchange/silent-store.test.ts', 'the key, when it is not in memory'],
    here('the store is … when a key is looked up, before and after the body: nothing is paid'),
  ),
  pays('nothing: 500', here('the store is … when a key is looked up, before and after the body: nothing is paid')),
]

const STAGE_ROWS: Record<Stage, Row> = {
  route: inStage(client(UPLOAD_LEFT, AT_ONCE)),
  credential: inStage(client(UPLOAD_LEFT, AT_ONCE)),
  authenticate: inStage(client(LEFT_WHILE_ASKED, NOT_HIS), KEY),
  admit: inStage(client(AT_ONCE, AT_ONCE)),
  throttle: inStage(
    client(LEFT_WHILE_ASKED, NOT_HIS),
    all(
      pays(
        'as usual: this process goes by the window as it last knew it',
        here('a rate that the store cannot be asked for: requests go on, and are paid as usual'),
        ['exchange/silent-store.test.ts', 'a place in the rate window'],
      ),
    ),
  ),
  readBody: inStage(
    client(
      UPLOAD_LEFT,
      pays(
        'nothing until all of it is there',
        here('a client whose body comes slowly pays nothing before all of it is there'),
      ),
    ),
    all(
      pays(
        'nothing: 503, where money is asked for before a large body is kept',
        here('the store is … when money is asked for before a large body is kept: nothing is paid'),
        ['exchange/silent-store.test.ts', 'money, before a large body is kept'],
      ),
    ),
  ),
  confirm: inStage(
    client(
      LEFT_WHILE_ASKED,
      NOT_HIS,
      pays('nothing: 401', here('a key that ends while the body comes: nothing is asked, and nothing paid')),
    ),
    KEY,
  ),
  chooseModel: inStage(client(AT_ONCE, AT_ONCE)),
  findMaker: inStage(client(LEFT_WHILE_ASKED, NOT_HIS), [
    pays(
      'nothing: 503',
      here('an earlier answer that the store cannot be asked for: nothing is asked of an upstream, and nothing paid'),
    ),
    pays(
      'nothing: 503 after a second',
      here('an earlier answer that the store cannot be asked for: nothing is asked of an upstream, and nothing paid'),
    ),
    pays(
      'nothing: 500',
      here('an earlier answer that the store cannot be asked for: nothing is asked of an upstream, and nothing paid'),
    ),
  ]),
  findCandidates: inStage(
    client(
      pays('nothing', [
        'exchange/translate-large.test.ts',
        'a client that leaves while its request is written: no upstream hears of it',
      ]),
      NOT_HIS,
    ),
    NO_STORE,
    [
      pays('nothing: 503 while all rest', [
        'exchange/limits.test.ts',
        'failures rest a channel, which is asked so often all the same: then 503; a disabled one is no question of health',
      ]),
      cannot('no upstream is waited for'),
      pays('nothing: 429 while all are too busy', [
        'exchange/rate-limited-upstreams-429.test.ts',
        'one 429 with retry-after, caused by an account with a cent',
      ]),
    ],
  ),
  price: inStage(client(AT_ONCE, AT_ONCE)),
  reserve: inStage(
    client(
      pays('nothing: the hold is voided', leaving('before the hold: nothing is asked and nothing recorded')),
      NOT_HIS,
    ),
    [
      pays(
        'nothing: 503, unless a lease covers it',
        here('the store is … when money is asked for: nobody waits for more than a second, and nothing is paid'),
      ),
      pays(
        'nothing: 503 after a second, unless a lease covers it',
        ['exchange/silent-store.test.ts', 'the hold'],
        here('the store is … when money is asked for: nobody waits for more than a second, and nothing is paid'),
      ),
      pays(
        'nothing: 503',
        here('the store is … when money is asked for: nobody waits for more than a second, and nothing is paid'),
      ),
    ],
  ),
}

// --- states of the relay

const BOOKED_LATER = pays(
  'the same, booked once when the store is back',
  here('the store is … from the first byte of an answer to its end: it is charged once'),
)
const BOOKED_ONCE = pays(
  'the same, once, also where the answer to the settlement is lost',
  here('a settlement that the store took and whose answer was lost is charged once'),
  here('the store is … from the first byte of an answer to its end: it is charged once'),
)
const BOOKED: Cells = [BOOKED_LATER, BOOKED_LATER, BOOKED_ONCE]
const ALREADY_JUDGED = cannot('the whole request was judged before')
const TAKES_NOTHING_YET = cannot('there is nothing for it to take yet')
const DRAINED = pays(
  'what the upstream reports in time (`client_gone.drain`; of a whole answer, or where thoughts may be unseen, `timeouts.first_byte`); past that what was counted, times the hidden ratio',
  leaving('in the middle of a stream: exact usage when it comes in time'),
  leaving('past client_gone.drain it is cut, and what was seen is charged'),
  leaving('what is given up is charged for what its model does not show'),
  leaving('cheap streams left behind give no answer of a thinking model away'),
)
const DISPUTED = pays(
  'what the request can have caused; the rest is disputed',
  ['exchange/bounds.test.ts', 'an upstream reports 900,000,000 tokens for a prompt of 60 bytes'],
  ['exchange/bounds.test.ts', 'of each number what the request can have caused, and of the rest nothing'],
  broken('a document that is none passes as it came, and is charged by its bytes'),
)

const STATE_ROWS: Record<State, Row> = {
  asking: {
    client: [
      pays(
        'what the answer reports, when it comes in time (as in `relaying`); else the estimated input. A fee alone: as it ends, within `timeouts.first_byte`; else nothing',
        leaving('while the upstream is silent: its answer is charged, and recorded as 499'),
        left('no answer by the end of the drain'),
        ['exchange/fee-by-request.test.ts', 'no answer, and no other price'],
      ),
      TAKES_NOTHING_YET,
      ALREADY_JUDGED,
    ],
    upstream: [
      pays(
        'nothing: the next candidate, or 502',
        here('an upstream that is absent, slow or wrong while it is asked: the client pays nothing'),
      ),
      pays(
        'nothing: the next candidate, or 504. After a 524 of the main address: as it ends, within `timeouts.first_byte`; no answer by then: the estimated input',
        here('an upstream that is absent, slow or wrong while it is asked: the client pays nothing'),
        left('after a 524 the upstream is read on as long as `first_byte` allows, and charged as it ends'),
      ),
      pays(
        'nothing: the next candidate, or its refusal',
        here('an upstream that is absent, slow or wrong while it is asked: the client pays nothing'),
      ),
    ],
    store: all(
      pays(
        'as usual: the hold is made. A further candidate that needs more than is held is passed over',
        ['ledger/silent.test.ts', 'more for a further candidate, or for an answer that grows'],
        here('the store is … when a hold must grow: no more is delivered than is held, and that is paid'),
      ),
    ),
    'payment provider': NO_PROVIDER,
  },
  judging: {
    client: [
      pays(
        'as in `relaying`',
        here('a client that leaves while the first bytes of its answer are judged is charged for what comes'),
      ),
      TAKES_NOTHING_YET,
      ALREADY_JUDGED,
    ],
    upstream: [
      pays(
        'nothing: it is taken back',
        here('an upstream that sends a head and then breaks off or falls silent: the client pays nothing'),
        ['exchange/translated-failover.test.ts', 'without another one the client is refused, and nothing is charged'],
      ),
      pays(
        'nothing: 502 or 504',
        here('an upstream that sends a head and then breaks off or falls silent: the client pays nothing'),
      ),
      pays('nothing: an error under 200 is no answer', [
        'exchange/unreadable-answers.test.ts',
        'an error under 200 is no answer, whatever its form',
      ]),
    ],
    store: NO_STORE,
    'payment provider': NO_PROVIDER,
  },
  relaying: {
    client: [
      DRAINED,
      cannot('a client that takes nothing makes it `waiting`'),
      pays(
        'the same: what it sends is another request',
        here('a client that sends more behind its request has that taken for another one, and pays for each'),
      ),
    ],
    upstream: [
      pays(
        'input as reported, else estimated, and the output that was counted',
        broken('usage reported before the break is what is charged'),
        broken('…: … in the middle of an event'),
      ),
      pays(
        'the same, after `timeouts.idle`',
        broken(
          'silence for timeouts.idle ends a stream as a break, and the client has its own time for the last words',
        ),
      ),
      DISPUTED,
    ],
    store: BOOKED,
    'payment provider': NO_PROVIDER,
  },
  waiting: {
    client: [
      pays(
        'as in `relaying`',
        here('a client that leaves while a slow part of it holds the upstream up is charged as any that leaves'),
      ),
      pays(
        'as for one that left, after `timeouts.slow_client`',
        leaving('a client that takes nothing: the upstream is held up, then cut, and settled as for one that left'),
      ),
      ALREADY_JUDGED,
    ],
    upstream: [
      pays(
        'as in `relaying`',
        here(
          'an upstream that breaks off, or reports an error, while a slow client holds it up: as if nobody had been slow',
        ),
      ),
      cannot('it is held up by us'),
      pays(
        'as in `relaying`',
        here(
          'an upstream that breaks off, or reports an error, while a slow client holds it up: as if nobody had been slow',
        ),
      ),
    ],
    store: all(
      pays(
        'what was delivered, which is no more than what is held: the answer ends with the length stop',
        here('the store is … when a hold must grow: no more is delivered than is held, and that is paid'),
      ),
    ),
    'payment provider': NO_PROVIDER,
  },
  keeping: {
    client: [
      pays(
        'the same: the answer is whole',
        here('a client that leaves, or takes nothing, when its answer is charged already pays the same'),
      ),
      pays(
        'the same',
        here('a client that leaves, or takes nothing, when its answer is charged already pays the same'),
      ),
      ALREADY_JUDGED,
    ],
    upstream: [
      pays(
        'what was reported',
        broken('…: a reset after all was said is charged as reported, and a clean end where nothing can follow'),
      ),
      pays(
        'what was reported',
        here('an upstream that does not end behind its last event: the client has its end, and pays what was reported'),
      ),
      pays('what was reported: the client gets nothing of what comes behind the end', [
        'exchange/text-behind-end-of-stream.test.ts',
        'text behind the end of a stream whose hold grows: the stream ends',
      ]),
    ],
    store: BOOKED,
    'payment provider': NO_PROVIDER,
  },
  ending: {
    client: [
      pays(
        'the same',
        here('a client that leaves, or takes nothing, when its answer is charged already pays the same'),
      ),
      pays(
        'the same',
        here('a client that leaves, or takes nothing, when its answer is charged already pays the same'),
      ),
      ALREADY_JUDGED,
    ],
    upstream: all(cannot('it is done with, and not heard any more')),
    store: BOOKED,
    'payment provider': NO_PROVIDER,
  },
}

// --- orders

const NEVER_PAYS = pays(
  'nothing: the order ends',
  orders('a payer that never pays: every order ends, and the account has nothing'),
)
const PAYS_LATE = pays(
  'credited when the money comes, marked as late',
  orders('a payer that pays late is credited, and marked as late'),
)
const PAYS_WRONG = pays(
  'nothing more: a person is told',
  orders(
    'a payer that pays another amount, or pays twice: a person is told, and the account has what was ordered at most',
  ),
)
const HAS_PAID = cannot('the payer has nothing more to do')
const ABSENT = (what: string): Cell =>
  pays(
    what,
    orders('a provider that is absent: what it has said counts, what it has not said does not, and it is asked again'),
  )
const FORGED = pays(
  'nothing: what does not fit credits nothing and waits for a person; what is not signed, or answers something else, is none',
  ['pay/intake.test.ts', 'every field of a payment is compared with the order'],
  ['pay/alipay.test.ts', 'a notification is not believed'],
  ['pay/wechat.test.ts', 'messages that are not believed credit nothing'],
  ['pay/card.test.ts', 'what Stripe says of a payment must fit its order in every field'],
)
const STORE_OF_ORDER: Cells = all(
  pays(
    'the same, once: what cannot be kept is not taken, so the provider says it again, and it is asked',
    orders('the store is … when something is told of an order: it is not taken, comes again, and counts once'),
  ),
)
const row = (payer: Cells, provider: Cells): Row => ({
  client: payer,
  upstream: NO_UPSTREAM_OF_ORDER,
  store: STORE_OF_ORDER,
  'payment provider': provider,
})
const LATE = pays(
  'credited once it has said so: told later, or found by asking or in the bill',
  ['pay/orders.test.ts', 'a callback that never comes: asked by the schedule, credited, counted as a repair'],
  ['pay/bills.test.ts', 'a payment that nobody told is asked about, credited, and counted as a repair'],
)
const REFUND_FROZEN = pays(
  'a refund that was begun stays frozen',
  orders('a refund that the provider does not answer, or does not decide, stays frozen until it has'),
)
const CONTRADICTS = pays(
  'nothing by itself: a contradiction waits for a person',
  ['pay/intake.test.ts', 'money that goes back'],
  ['pay/bills.test.ts', 'what differs waits for a person, once'],
)

const ORDER_ROWS: Record<OrderState, Row> = {
  created: row(
    [NEVER_PAYS, PAYS_LATE, cannot('the payer was shown nothing to pay yet')],
    [
      pays(
        'nothing: it is made payable when the provider is back',
        ['pay/orders.test.ts', 'a provider that is away: the order stays, and looking at it makes it payable'],
        [
          'outcomes/orders.test.ts',
          'a provider that is absent: what it has said counts, what it has not said does not, and it is asked again',
        ],
      ),
      LATE,
      pays(
        'nothing: the order fails, and money that comes all the same is taken',
        ['pay/card.test.ts', 'a session that Stripe refuses fails its order'],
        ['pay/intake.test.ts', 'every field of a payment is compared with the order'],
      ),
    ],
  ),
  pending: row(
    [NEVER_PAYS, PAYS_LATE, PAYS_WRONG],
    [ABSENT('nothing until it is back; it is asked again'), LATE, FORGED],
  ),
  paid: row(
    [HAS_PAID, HAS_PAID, PAYS_WRONG],
    [ABSENT('credited: the proof is there'), cannot('nothing is asked of it'), CONTRADICTS],
  ),
  credited: row(
    [
      HAS_PAID,
      HAS_PAID,
      pays(
        'what is disputed is frozen',
        ['pay/intake.test.ts', 'money that goes back'],
        orders(
          'a payer that pays another amount, or pays twice: a person is told, and the account has what was ordered at most',
        ),
      ),
    ],
    [REFUND_FROZEN, REFUND_FROZEN, CONTRADICTS],
  ),
  expired: row(
    [NEVER_PAYS, PAYS_LATE, PAYS_WRONG],
    [ABSENT('nothing until it is back; it is asked again'), LATE, FORGED],
  ),
  failed: row(
    [NEVER_PAYS, PAYS_LATE, PAYS_WRONG],
    [ABSENT('nothing until it is back; it is asked again'), LATE, FORGED],
  ),
  refunded: row(
    [HAS_PAID, HAS_PAID, PAYS_WRONG],
    [
      ABSENT('nothing: the money is back with the payer'),
      pays('credited again, when the refund fails later', [
        'pay/card-money-back.test.ts',
        'a refund that was done fails later: the account has its money again',
      ]),
      CONTRADICTS,
    ],
  ),
  reversed: row(
    [HAS_PAID, HAS_PAID, PAYS_WRONG],
    [
      ABSENT('nothing: the money is with the payer’s bank'),
      pays(
        'credited again, when the dispute is won later',
        ['pay/intake.test.ts', 'money that goes back'],
        ['pay/card-money-back.test.ts', 'disputes'],
      ),
      pays('nothing by itself: a person is told', [
        'pay/card-dispute-lost-after-won.test.ts',
        'a dispute that is lost after it was won waits for a person',
      ]),
    ],
  ),
}

/** By what it is the life of. */
export const TABLES: Readonly<Record<'request' | 'order', Readonly<Record<string, Row>>>> = {
  request: { ...STAGE_ROWS, ...STATE_ROWS },
  order: ORDER_ROWS,
}
