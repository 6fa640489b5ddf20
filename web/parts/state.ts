/** What stands in the place of data: its frame while it is on its way, why it could not be had, or that there is none. */
import type { VNode } from 'preact'
import type { Refused } from '../base/ask.ts'
import { button, type Child, div, p, span } from '../base/element.ts'
import { type Icon, icon } from '../base/icons.ts'
import type { Loaded } from '../base/load.ts'
import { words } from '../base/words.ts'

const w = words({
  loading: ['正在加载…', 'Loading…'],
  again: ['再试一次', 'Try again'],
})

const LINES = 5

/** Shows only after a moment, so that a quick answer does not flicker. */
export const skeleton = (): VNode =>
  div(
    { class: 'skeleton', role: 'status' },
    span({ class: 'unseen' }, w.loading()),
    Array.from({ length: LINES }, (_, at) => span({ key: at, 'aria-hidden': 'true' })),
  )

/** `busy`: it is being tried again. `id`: whether the request is named, which nobody needs who entered something wrong. */
export const failed = (failure: Refused, again?: () => void, busy = false, id = true): VNode =>
  div(
    { class: 'told bad', role: 'alert', 'aria-busy': busy ? 'true' : undefined },
    icon('alert'),
    div(
      { class: 'stack' },
      p({}, id ? failure.message : failure.reason),
      again && p({}, button({ type: 'button', class: 'small', onClick: again }, icon('refresh'), w.again())),
    ),
  )

export const told = (tone: 'plain' | 'good' | 'warn' | 'bad', ...content: Child[]): VNode =>
  div(
    { class: `told ${tone}` },
    icon(tone === 'good' ? 'check' : tone === 'plain' ? 'info' : 'alert'),
    div({}, content),
  )

/** One sentence, and what to do next. */
export const empty = (name: Icon, sentence: string, next?: Child): VNode =>
  div({ class: 'empty' }, icon(name), p({}, sentence), next)

/** Nothing that is asked for again will be there, and nobody has to look into it. */
const MISSING = 404

/** The data when it is there. What was there stays in sight while it is asked for again. */
export function whenLoaded<T>(loaded: Loaded<T>, view: (value: T) => Child): Child {
  const value = loaded.value.value
  const failure = loaded.failure.value
  return [
    failure &&
      (failure.status === MISSING
        ? failed(failure, undefined, false, false)
        : failed(failure, loaded.again, loaded.busy.value)),
    value === null
      ? !failure && skeleton()
      : div({ class: 'stack', 'aria-busy': loaded.busy.value ? 'true' : undefined }, view(value)),
  ]
}
