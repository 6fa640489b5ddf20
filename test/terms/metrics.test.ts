import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import { rowCounts, type UsageRow } from '../../lib/terms/usage-row.ts'
import type { BreakerState } from '../../lib/terms/records.ts'
import { METRICS, type MetricRow } from '../../lib/terms/metric-rows.ts'
import { formatMetrics, type Snapshot, Metrics, type Observed } from '../../lib/terms/metrics.ts'
import { NOT_RECORDED, receiptLine } from '../support/store.ts'
import { until } from '../support/wait.ts'

const rows = Object.values(METRICS) as MetricRow[]

const settled = (change: Partial<UsageRow>): UsageRow => ({
  ...rowCounts(noUsage()),
  requestId: 'r1',
  accountId: 1,
  keyId: 2,
  group: 'default',
  protocol: 'chat',
  model: 'm',
  channel: 'one',
  status: 200,
  end: 'completed',
  basis: 'reported',
  charge: micro(0),
  firstByteMs: 1,
  durationMs: 2,
  answerId: null,
  upstreamKey: null,
  ...NOT_RECORDED,
  ...change,
})

const observed = (
  change: Partial<Record<keyof Observed, number>>,
  states: [string, BreakerState, BreakerState[]?][] = [],
): Observed => ({
  holdsOpen: () => change.holdsOpen ?? 0,
  heldMicro: () => change.heldMicro ?? 0,
  leaseCalls: () => ({ granted: change.leaseCalls ?? 0, nothing: 0, failed: 0 }),
  leaseCallsOpen: () => change.leaseCallsOpen ?? 0,
  storeState: () => (['ok', 'slow', 'readonly', 'away'] as const)[change.storeState ?? 0]!,
  journalEntries: () => change.journalEntries ?? 0,
  settlementLagMs: () => change.settlementLagMs ?? 0,
  channelStates: () => states.map(([name, state, keys = [state]]) => [name, { state, keys, open: 0 }] as const),
  imbalanceMicro: () => change.imbalanceMicro ?? 0,
  balances: () => [],
  connections: () => ({ open: 0, refused: {} }),
  whole: async () => null,
  setAside: () => ({ settlements: 0, unreadable: 0, journals: 0 }),
  clockSkewMs: () => 0,
})

/** As it comes out of another process. */
const travelled = async (metrics: Metrics): Promise<Snapshot> => JSON.parse(JSON.stringify(await metrics.snapshot()))

/** Our own lines that are neither comments nor buckets. */
async function lines(...all: Metrics[]): Promise<string[]> {
  const text = await formatMetrics(await Promise.all(all.map(travelled)))
  return text.split('\n').filter(line => line.startsWith('gateway_') && !line.includes('_bucket'))
}

t.test('docs/metrics.md has the same rows as the code', async t => {
  const doc = readFileSync(path.join(import.meta.dirname, '../../docs/metrics.md'), 'utf8')
  const documented = doc.split('\n').filter(line => /^\| `gateway_\w+` \|/.test(line))
  t.same(
    documented,
    rows.map(m => `| \`${m.name}\` | ${m.type} | ${m.labels.map(l => `\`${l}\``).join(' ')} | ${m.help} |`),
  )
})

t.test('every metric is announced from the start, and those that alarms watch have a value', async t => {
  const text = await formatMetrics([await new Metrics().snapshot()])
  for (const { name, type, help } of rows) {
    t.match(text, `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`)
  }
  t.same(await lines(new Metrics()), [
    'gateway_connections 0',
    'gateway_pictures_total{outcome="kept"} 0',
    'gateway_pictures_total{outcome="no_room"} 0',
    'gateway_pictures_total{outcome="failed"} 0',
    'gateway_pictures_total{outcome="not_base64"} 0',
    'gateway_pictures_bytes 0',
    'gateway_holds_open 0',
    'gateway_held_cny 0',
    'gateway_lease_calls_open 0',
    'gateway_settlements_total{basis="reported"} 0',
    'gateway_settlements_total{basis="counted"} 0',
    'gateway_settlements_total{basis="none"} 0',
    'gateway_settlement_lag_seconds 0',
    'gateway_journal_entries 0',
    'gateway_set_aside{what="settlements"} 0',
    'gateway_set_aside{what="unreadable"} 0',
    'gateway_set_aside{what="journals"} 0',
    'gateway_clock_skew_seconds 0',
    'gateway_store_state 0',
    'gateway_uncovered_total{outcome="admitted"} 0',
    'gateway_uncovered_total{outcome="refused"} 0',
    'gateway_read_ons_closed_total{reason="time"} 0',
    'gateway_read_ons_closed_total{reason="room"} 0',
    'gateway_client_gone_total{outcome="drained"} 0',
    'gateway_client_gone_total{outcome="cut"} 0',
    'gateway_client_gone_total{outcome="slow"} 0',
    'gateway_ledger_imbalance_cny 0',
    'gateway_credits_by_hand_cny 0',
    'gateway_pay_open{what="exceptions"} 0',
    'gateway_pay_open{what="uncredited"} 0',
    'gateway_pay_open{what="held"} 0',
    'gateway_pay_chain{what="head_block"} 0',
    'gateway_pay_chain{what="finalized_lag_blocks"} 0',
    'gateway_pay_chain{what="cursor_lag_seconds"} 0',
    `gateway_build_info{version="0.1.0",node="${process.version}"} 1`,
  ])
  t.notMatch(text, /^# TYPE \w+_total gauge$/m, 'no gauge has the name of a counter')
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds']) {
    t.match(text, new RegExp(`^${name} `, 'm'))
  }
})

t.test('what is counted is shown', async t => {
  const steps: [string, (metrics: Metrics) => void, string[]][] = [
    [
      'inflight',
      m => {
        m.inflight('chat', 1)
        m.inflight('chat', 1)
        m.inflight('chat', -1)
      },
      ['gateway_inflight{protocol="chat"} 1'],
    ],
    [
      'request',
      m => {
        m.request('chat', 200, 0.25)
        m.request('chat', 200, 0.5)
        m.request('none', 404, 0)
      },
      [
        'gateway_requests_total{protocol="chat",status="200"} 2',
        'gateway_requests_total{protocol="none",status="404"} 1',
        'gateway_request_seconds_sum{protocol="chat"} 0.75',
        'gateway_request_seconds_count{protocol="chat"} 2',
        'gateway_request_seconds_sum{protocol="none"} 0',
        'gateway_request_seconds_count{protocol="none"} 1',
      ],
    ],
    ['picture', m => m.pictures.count('no_room'), ['gateway_pictures_total{outcome="no_room"} 1']],
    [
      'pictures swept',
      m => m.pictures.swept({ expired: 2, crowded: 1, bytes: 4096 }),
      [
        'gateway_pictures_deleted_total{cause="keep"} 2',
        'gateway_pictures_deleted_total{cause="size"} 1',
        'gateway_pictures_bytes 4096',
      ],
    ],
    ['refusal', m => m.refusal('key'), ['gateway_refusals_total{reason="key"} 1']],
    ['overhead', m => m.overhead(0.5), ['gateway_overhead_seconds_sum 0.5', 'gateway_overhead_seconds_count 1']],
    [
      'firstByte',
      m => m.firstByte('messages', 'one', 2),
      [
        'gateway_first_byte_seconds_sum{protocol="messages"} 2',
        'gateway_first_byte_seconds_count{protocol="messages"} 1',
        'gateway_channel_first_byte_seconds_sum{channel="one"} 2',
        'gateway_channel_first_byte_seconds_count{channel="one"} 1',
      ],
    ],
    ['attempt', m => m.attempt('one', 'busy'), ['gateway_upstream_attempts_total{channel="one",result="busy"} 1']],
    ['adminRefused', m => m.adminRefused('token'), ['gateway_admin_refused_total{reason="token"} 1']],
    [
      'consoleRequests',
      m => m.consoleRequest('keys.list', 200),
      ['gateway_console_requests_total{operation="keys.list",status="200"} 1'],
    ],
    [
      'translation',
      m => m.translation('request', 'full'),
      ['gateway_translations_total{what="request",outcome="full"} 1'],
    ],
    ['clientGone', m => m.clientGone('cut'), ['gateway_client_gone_total{outcome="cut"} 1']],
    [
      'storeStatement',
      m => {
        m.storeStatement('lease', true)
        m.storeStatement('lease', false)
      },
      ['gateway_store_queries_total{op="lease"} 2', 'gateway_store_errors_total{op="lease"} 1'],
    ],
    [
      'settlement',
      m => {
        const lines = [
          receiptLine('input_audio', 3),
          receiptLine('cache_write_1h', 4),
          receiptLine('image', 2),
          receiptLine('output', 5, { model: 'a pass' }),
        ]
        m.settlement('m', settled({ lines, charge: micro(1) }))
      },
      [
        'gateway_tokens_total{model="m",class="input_audio"} 3',
        'gateway_tokens_total{model="m",class="cache_write_1h"} 4',
        'gateway_tokens_total{model="a pass",class="output"} 5',
        'gateway_charge_cny_total{model="m"} 0.000001',
        'gateway_settlements_total{basis="reported"} 1',
      ],
    ],
    [
      'connections',
      m => m.observe({ connections: () => ({ open: 3, refused: { limit: 2, system: 0 } }) }),
      [
        'gateway_connections 3',
        'gateway_connections_refused_total{cause="limit"} 2',
        'gateway_connections_refused_total{cause="system"} 0',
      ],
    ],
    [
      'the gateway as a whole',
      m =>
        m.observe({
          whole: async () => ({ isReady: true, nowMs: 5500, freeBytes: { journal: 7, store: 8 }, backupMs: 1500 }),
        }),
      [
        'gateway_ready 1',
        'gateway_time_seconds 5.5',
        'gateway_disk_free_bytes{what="journal"} 7',
        'gateway_disk_free_bytes{what="store"} 8',
        'gateway_backup_timestamp_seconds 1.5',
      ],
    ],
    [
      'a gateway that is not ready, and whose copies are not known',
      m => m.observe({ whole: async () => ({ isReady: false, nowMs: 0, freeBytes: {}, backupMs: null }) }),
      ['gateway_ready 0', 'gateway_time_seconds 0'],
    ],
    [
      'a reload',
      m => m.configRead(2500),
      ['gateway_config_reload_success 1', 'gateway_config_reload_timestamp_seconds 2.5'],
    ],
    [
      'a reload that was refused',
      m => {
        m.configRead(2500)
        m.reloadRefused()
      },
      ['gateway_config_reload_success 0', 'gateway_config_reload_timestamp_seconds 2.5'],
    ],
    [
      'a reload that went well after that',
      m => {
        m.configRead(2500)
        m.reloadRefused()
        m.configRead(3500)
      },
      ['gateway_config_reload_success 1', 'gateway_config_reload_timestamp_seconds 3.5'],
    ],
    ['lost refusals', m => m.refusalsLost('store', 2), ['gateway_refusals_lost_total{cause="store"} 2']],
    ['usage', m => m.usageCounted('c'), ['gateway_usage_counted_total{channel="c"} 1']],
    ['a finish', m => m.finishUnknown('c'), ['gateway_finish_unknown_total{channel="c"} 1']],
    [
      'a dispute',
      m => m.settlement('m', settled({ disputed: micro(7_500_000) })),
      ['gateway_disputed_cny_total{channel="one"} 7.5', 'gateway_settlements_total{basis="reported"} 1'],
    ],
    ['a tier', m => m.tierUnlisted('m'), ['gateway_tier_unlisted_total{model="m"} 1']],
    ['a picture', m => m.pictureUnmatched('m'), ['gateway_picture_unmatched_total{model="m"} 1']],
    ['a label as it comes', m => m.refusal('a"b\\c\nd'), ['gateway_refusals_total{reason="a\\"b\\\\c\\nd"} 1']],
    [
      'observed',
      m =>
        m.observe(
          observed({ holdsOpen: 3, heldMicro: 1_234_567, journalEntries: 2, settlementLagMs: 1500, imbalanceMicro: 7 }),
        ),
      [
        'gateway_holds_open 3',
        'gateway_held_cny 1.234567',
        'gateway_lease_calls_total{result="granted"} 0',
        'gateway_lease_calls_total{result="nothing"} 0',
        'gateway_lease_calls_total{result="failed"} 0',
        'gateway_settlement_lag_seconds 1.5',
        'gateway_journal_entries 2',
        'gateway_ledger_imbalance_cny 0.000007',
      ],
    ],
  ]
  const before = new Set(await lines(new Metrics()))
  for (const [name, act, expected] of steps) {
    const metrics = new Metrics()
    act(metrics)
    t.same(
      (await lines(metrics)).filter(line => !before.has(line)),
      expected,
      name,
    )
  }
})

t.test('channels have a state from the start, unlisted ones are closed, and gone ones are not shown', async t => {
  const metrics = new Metrics()
  metrics.setChannels(['a', 'b', 'c'])
  metrics.observe(
    observed({}, [
      ['b', 'open'],
      ['c', 'half_open'],
      ['gone', 'open'],
    ]),
  )
  const states = async (...all: Metrics[]) => (await lines(...all)).filter(line => line.includes('channel_state'))
  t.same(await states(metrics), [
    'gateway_channel_state{channel="a"} 0',
    'gateway_channel_state{channel="b"} 2',
    'gateway_channel_state{channel="c"} 1',
  ])
  const other = new Metrics()
  other.setChannels(['a', 'b'])
  other.observe(observed({}, [['a', 'half_open']]))
  t.same(
    await states(metrics, other),
    [
      'gateway_channel_state{channel="a"} 1',
      'gateway_channel_state{channel="b"} 2',
      'gateway_channel_state{channel="c"} 1',
    ],
    'of several processes the worst',
  )
})

t.test('keys have states of their own where a channel has several, by their places', async t => {
  const metrics = new Metrics()
  metrics.observe(
    observed({}, [
      ['one', 'closed'],
      ['many', 'closed', ['open', 'closed']],
    ]),
  )
  t.same(
    (await lines(metrics)).filter(line => line.startsWith('gateway_channel_key_state')),
    ['gateway_channel_key_state{channel="many",key="1"} 2', 'gateway_channel_key_state{channel="many",key="2"} 0'],
  )
})

t.test('several processes: counters and holds add up, lag and imbalance are the greatest', async t => {
  const one = new Metrics()
  const two = new Metrics()
  one.request('chat', 200, 1)
  two.request('chat', 200, 2)
  two.request('chat', 429, 0)
  one.observe(
    observed({ holdsOpen: 1, heldMicro: 100_000, settlementLagMs: 5000, imbalanceMicro: 3, journalEntries: 1 }),
  )
  two.observe(
    observed({ holdsOpen: 2, heldMicro: 200_000, settlementLagMs: 1000, imbalanceMicro: 3, journalEntries: 1 }),
  )
  const shown = await lines(one, two, new Metrics())
  for (const line of [
    'gateway_requests_total{protocol="chat",status="200"} 2',
    'gateway_requests_total{protocol="chat",status="429"} 1',
    'gateway_request_seconds_sum{protocol="chat"} 3',
    'gateway_request_seconds_count{protocol="chat"} 3',
    'gateway_holds_open 3',
    'gateway_held_cny 0.3',
    'gateway_settlement_lag_seconds 5',
    'gateway_journal_entries 2',
    'gateway_ledger_imbalance_cny 0.000003',
  ]) {
    t.ok(shown.includes(line), line)
  }
})

t.test('lags of the event loop are those since the last reading', async t => {
  const metrics = new Metrics()
  await metrics.watchProcess()
  await new Promise(resolve => setImmediate(resolve))
  const read = async () => {
    const snapshot = await metrics.snapshot()
    return (name: string) => snapshot.filter(one => one.name === `nodejs_eventloop_lag_${name}_seconds`)
  }
  // the samples of the first second are thrown away once, and on a busy machine a hundred turns may go by beside the long one
  await until('a long turn is in two figures', async () => {
    await read()
    // of what it measures, the engine takes away the 10 ms between two looks, and the loop may be blocked 10 ms after one
    for (const end = performance.now() + 100; performance.now() < end; );
    await new Promise(resolve => setTimeout(resolve, 5))
    const lags = await read()
    return ['max', 'p99'].every(name => lags(name)[0]!.values[0]!.value >= 0.05)
  })
  const lags = await read()
  for (const name of ['max', 'p99', 'mean', 'p50', 'p90', 'min', 'stddev']) t.equal(lags(name).length, 1, name)
})

t.test('of the processes’ own metrics a lag is the greatest, the start the oldest, memory the sum', async t => {
  const snapshot = await travelled(new Metrics())
  const as = (values: Record<string, number>): Snapshot =>
    snapshot.map(metric => {
      const value = values[metric.name]
      return value === undefined ? metric : { ...metric, values: [{ labels: {}, value }] }
    })
  const text = await formatMetrics([
    as({ nodejs_eventloop_lag_p99_seconds: 0.2, process_start_time_seconds: 7, process_resident_memory_bytes: 1 }),
    as({ nodejs_eventloop_lag_p99_seconds: 0.1, process_start_time_seconds: 5, process_resident_memory_bytes: 2 }),
  ])
  t.match(text, /^nodejs_eventloop_lag_p99_seconds 0.2$/m)
  t.match(text, /^process_start_time_seconds 5$/m)
  t.match(text, /^process_resident_memory_bytes 3$/m)
})

t.test('charges are exact however many add up', async t => {
  const all = [new Metrics(), new Metrics(), new Metrics()]
  let total = 0
  for (let i = 0; i < 30_000; i++) {
    const charge = 100_001 + (i % 7)
    total += charge
    all[i % 3]!.settlement('m', settled({ charge: micro(charge) }))
  }
  const line = (await lines(...all)).find(text => text.startsWith('gateway_charge_cny_total'))
  t.equal(line, `gateway_charge_cny_total{model="m"} ${total / 1e6}`)
})

t.test('histograms: buckets hold everything up to their bound', async t => {
  const metrics = new Metrics()
  for (const seconds of [0, 0.0005, 0.00051, 0.3, 600, 601]) metrics.overhead(seconds)
  const text = await formatMetrics([await travelled(metrics)])
  const bucket = (le: string) =>
    Number(new RegExp(`_overhead_seconds_bucket\\{le="${le.replace('+', '\\+')}"\\} (\\d+)`).exec(text)?.[1])
  const expected: [string, number][] = [
    ['0.0005', 2],
    ['0.001', 3],
    ['0.25', 3],
    ['0.5', 4],
    ['600', 5],
    ['+Inf', 6],
  ]
  for (const [le, count] of expected) t.equal(bucket(le), count, le)
})
