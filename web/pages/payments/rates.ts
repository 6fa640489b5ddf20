/** Rates of the currencies in which a way to pay takes money. Each holds until a time, and is set here. */
import { signal } from '@preact/signals'
import type { PayRates } from '../../../lib/console/answers.ts'
import { get, send } from '../../base/ask.ts'
import { type Child, h2, section } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { exactMoney } from '../../base/money.ts'
import { say } from '../../base/page.ts'
import { badge } from '../../parts/badge.ts'
import { selectField, textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { told } from '../../parts/state.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['汇率', 'Rates'],
  currency: ['货币', 'Currency'],
  rate: ['一个单位的人民币价格', 'CNY for one unit'],
  life: ['有效期', 'Holds for'],
  hint: ['例如 24h 或 7d，从现在起。', 'Like 24h or 7d, from now.'],
  set: ['设置汇率', 'Set the rate'],
  done: ['汇率已生效', 'The rate is in force'],
  from: ['自', 'From'],
  until: ['至', 'Until'],
  by: ['设置者', 'Set by'],
  now: ['当前', 'In force'],
  missing: [
    (currency: string) => `${currency} 目前没有有效汇率：无法用它创建订单，转账也会等待。`,
    (currency: string) => `No rate of ${currency} is in force: nobody can begin an order in it, and transfers wait.`,
  ],
})

/** Nothing is drawn where every way to pay takes CNY. */
export function ratesPanel(): () => Child {
  const loaded = load(() => get<PayRates>('/payments/rates'))
  const currency = signal('')
  const rate = signal('')
  const life = signal('24h')
  const form = formOf(async () => {
    const body = { currency: currency.value, rate: rate.value.trim(), for: life.value.trim() }
    await send('POST', '/payments/rates', body)
    say(w.done())
    rate.value = ''
    loaded.again()
  })
  return () => {
    const value = loaded.value.value
    if (value === null || value.currencies.length === 0) return null
    if (currency.value === '') currency.value = value.currencies[0] as string
    const missing = value.currencies.filter(one => !value.data.some(row => row.currency === one && row.in_force))
    return section(
      { class: 'panel', 'aria-labelledby': 'rates' },
      h2({ id: 'rates' }, w.title()),
      missing.map(one => told('warn', w.missing(one))),
      form.view(
        'line',
        selectField(
          { name: 'currency', label: w.currency(), error: form.error('currency') },
          currency,
          value.currencies.map(one => ({ value: one, text: one })),
        ),
        textField({ name: 'rate', label: w.rate(), error: form.error('rate') }, rate, { inputMode: 'decimal' }),
        textField({ name: 'for', label: w.life(), hint: w.hint(), error: form.error('for') }, life),
        form.submit('main', w.set()),
      ),
      value.data.length > 0 && table(value),
    )
  }
}

const table = ({ data }: PayRates): Child =>
  rows<PayRates['data'][number]>({
    caption: w.title(),
    rows: data,
    keyOf: row => `${row.currency} ${row.from}`,
    columns: [
      { title: w.currency(), cell: row => [row.currency, ' ', row.in_force && badge('good', w.now())] },
      { title: w.rate(), narrow: 'beside', number: true, cell: row => exactMoney(row.rate) },
      { title: w.from(), cell: row => moment(row.from) },
      { title: w.until(), cell: row => moment(row.until) },
      { title: w.by(), cell: row => row.by },
    ],
  })
