/** A form that asks for an e-mail, to which a letter with a link then goes. */
import { signal } from '@preact/signals'
import { askOnce } from '../base/ask.ts'
import { type Child, div, p } from '../base/element.ts'
import { words } from '../base/words.ts'
import { textField } from './field.ts'
import { formOf } from './form.ts'
import { told } from './state.ts'

const w = words({
  email: ['邮箱', 'E-mail'],
  send: ['发送链接', 'Send the link'],
})

/** `path`: where the e-mail is sent to. `says`: what stands above the field, and what stands there when the letter is on its way, and `after` that. */
export function askEmail(
  path: string,
  says: { lead(): string; sent(email: string): string; after?(): Child },
): () => Child {
  const email = signal('')
  const sent = signal(false)
  const form = formOf(async () => {
    await askOnce('POST', path, { email: email.value.trim() })
    sent.value = true
  })
  return () =>
    div(
      { class: 'panel' },
      sent.value
        ? [told('good', says.sent(email.value.trim())), says.after?.()]
        : [
            p({ class: 'soft' }, says.lead()),
            form.view(
              'tall',
              textField({ name: 'email', label: w.email(), error: form.error('email') }, email, {
                type: 'email',
                autoComplete: 'username',
                autoFocus: true,
              }),
              form.submit('main', w.send()),
            ),
          ],
    )
}
