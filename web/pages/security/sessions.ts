/** Where the reader is signed in, and how to end it. */
import { get, send } from '../../base/ask.ts'
import { button, div, h2, p, section, span } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { say, type View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { agentName } from './agent.ts'
import { badge } from '../../parts/badge.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { whenLoaded } from '../../parts/state.ts'
import type { Session } from '../../base/shapes.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['登录设备', 'Where you are signed in'],
  lead: [
    '如有不认识的设备，请将其退出登录，并更改密码。',
    'If you do not recognise a device, sign it out and change your password.',
  ],
  device: ['设备', 'Device'],
  address: ['IP 地址', 'IP address'],
  began: ['登录时间', 'Signed in'],
  seen: ['最近使用', 'Last used'],
  here: ['当前设备', 'This device'],
  action: ['操作', 'Action'],
  end: ['退出登录', 'Sign out'],
  endOf: [(device: string) => `退出登录：${device}`, (device: string) => `Sign out ${device}`],
  others: ['退出其他全部设备', 'Sign out all other devices'],
  ended: ['已退出登录', 'Signed out'],
})

export function sessionsPanel(): View {
  const sessions = load(() => get<{ data: Session[] }>('/me/sessions'))
  const ended = () => {
    sessions.again()
    say(w.ended())
  }
  const end = async (id: string) => {
    await send('DELETE', `/me/sessions/${encodeURIComponent(id)}`)
    ended()
  }
  const others = formOf(async () => {
    await send('DELETE', '/me/sessions')
    ended()
  })
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'sessions' },
      div(
        { class: 'spread' },
        h2({ id: 'sessions' }, w.title()),
        (sessions.value.value?.data.length ?? 0) > 1 && others.view('', others.submit('small', w.others())),
      ),
      p({ class: 'soft' }, w.lead()),
      whenLoaded(sessions, ({ data }) =>
        rows<Session>({
          caption: w.title(),
          keyOf: session => session.id,
          rows: data,
          columns: [
            {
              title: w.device(),
              cell: session =>
                div(
                  { class: 'row' },
                  span({ title: session.agent }, agentName(session.agent)),
                  session.current && badge('good', w.here()),
                ),
            },
            { title: w.address(), cell: session => session.ip },
            { title: w.began(), cell: session => moment(session.created_at) },
            { title: w.seen(), narrow: 'beside', cell: session => moment(session.seen_at) },
            {
              title: w.action(),
              narrow: 'plain',
              cell: session =>
                !session.current &&
                button(
                  {
                    type: 'button',
                    class: 'small',
                    'aria-label': w.endOf(agentName(session.agent)),
                    onClick: () => act(() => end(session.id)),
                  },
                  w.end(),
                ),
            },
          ],
        }),
      ),
    )
}
