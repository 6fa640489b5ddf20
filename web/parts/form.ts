/**
 * A form that makes a call. What the API refuses is shown at the field that it names, which gets the focus; the rest stands
 * above the buttons. While the call is on its way the button cannot be pressed again.
 */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { Refused } from '../base/ask.ts'
import { button, type Child, form } from '../base/element.ts'
import { words } from '../base/words.ts'
import { failed } from './state.ts'

const w = words({
  needed: ['请填写此项', 'Fill this in'],
})

export interface Form {
  busy: Signal<boolean>
  /** What is wrong with a field. */
  error(name: string): string | undefined
  /** Shows an error at a field, which the page found out by itself. */
  refuse(name: string, text: string): void
  /**
   * The button that sends it. While the call is on its way it is not `disabled`, which would take the focus from it: a
   * dialog that the call opens could not give it back.
   */
  submit(kind: string, ...content: Child[]): VNode
  /** The element. `kind`: its class, such as `tall` or `line`. */
  view(kind: string, ...content: Child[]): VNode
}

/** What the API refuses because of what was entered. */
const OF_INPUT = ['invalid', 'forbidden', 'conflict', 'full', 'throttled']
const ENTERED = 'input:not([type=radio], [type=checkbox]), textarea'

/** `about`: the field that a refusal is about which names none, by the refusal's code; a form of one field needs none. */
export function formOf(submit: () => Promise<void>, about: Readonly<Record<string, string>> = {}): Form {
  const busy = signal(false)
  const errors = signal<Readonly<Record<string, string>>>({})
  const failure = signal<Refused | null>(null)

  const onSubmit = async (element: HTMLFormElement) => {
    if (busy.value) return
    failure.value = null
    errors.value = emptyFields(element)
    if (Object.keys(errors.value).length === 0) {
      busy.value = true
      try {
        await submit()
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        const known = Object.entries(error.fields)
          .map(([name, text]) => [rootOf(name), text] as const)
          .filter(([name]) => element.querySelector(`#${CSS.escape(name)}`))
        const meant = known.length > 0 ? null : meantBy(error, element)
        errors.value = meant === null ? Object.fromEntries(known) : { [meant]: error.reason }
        if (known.length === 0 && meant === null) failure.value = error
      } finally {
        busy.value = false
      }
    }
    // The error is drawn in a microtask that is queued already. A frame later would be too late for a reader who types on.
    queueMicrotask(() => element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }

  function meantBy({ code }: Refused, element: HTMLFormElement): string | null {
    const only = [...element.querySelectorAll(ENTERED)]
    const name = about[code] ?? (only.length === 1 && ['invalid', 'forbidden'].includes(code) ? only[0]?.id : undefined)
    return name !== undefined && element.querySelector(`#${CSS.escape(name)}`) !== null ? name : null
  }

  return {
    busy,
    error: name => errors.value[name],
    refuse: (name, text) => {
      errors.value = { ...errors.value, [name]: text }
    },
    submit: (kind, ...content) =>
      button({ type: 'submit', class: kind || undefined, 'aria-disabled': busy.value ? 'true' : undefined }, content),
    view: (kind, ...content) =>
      form(
        {
          class: kind,
          noValidate: true,
          onSubmit: event => {
            event.preventDefault()
            void onSubmit(event.currentTarget)
          },
        },
        content,
        failure.value && failed(failure.value, undefined, false, !OF_INPUT.includes(failure.value.code)),
      ),
  }
}

/** In the page's words, not in those of the browser, which may speak another language. */
function emptyFields(element: HTMLFormElement): Record<string, string> {
  const found: Record<string, string> = {}
  for (const control of element.querySelectorAll<HTMLInputElement>(
    'input:required, select:required, textarea:required',
  ))
    if (control.value.trim() === '') found[control.id] = w.needed()
  return found
}

/** A form has one control for a list, and the API names its members: `allow_ips.2`. */
const rootOf = (name: string): string => name.replace(/[.[].*$/, '')
