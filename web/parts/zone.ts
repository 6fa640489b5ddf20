/** The zone of the page's times: it stands once, below the heading, and the reader chooses another one there. */
import { type Child, label, option, p, select } from '../base/element.ts'
import { scripted } from '../base/page.ts'
import { chooseTimes } from '../base/settings.ts'
import { TIMES, type Times, times, zoneName, zoneOf } from '../base/time.ts'
import { words } from '../base/words.ts'

const w = words({
  zone: ['时区', 'Times in'],
})

/** UTC has many names. */
const plain = (which: Times): string => zoneOf(which).replace(/^(Etc\/)?(UTC|GMT|UCT|Universal|Zulu)$/, 'UTC')

/** Those that differ. */
const choices = (): Times[] =>
  TIMES.filter((which, at) => TIMES.findIndex(other => plain(other) === plain(which)) === at)

/** `chosen`: whether the reader can choose; money by days and months has the days of the books. */
export function zoneLine(chosen: boolean): Child {
  const all = scripted.value && chosen ? choices() : []
  if (all.length < 2) return p({ class: 'soft' }, `${w.zone()} `, zoneName())
  return p(
    { class: 'soft row zone' },
    label({ for: 'zone' }, w.zone()),
    select(
      { id: 'zone', value: times.value, onChange: event => chooseTimes(event.currentTarget.value as Times) },
      all.map(which =>
        option({ key: which, value: which, selected: plain(which) === plain(times.value) }, plain(which)),
      ),
    ),
  )
}
