/** Name and password of somebody who becomes a user: by an invitation, or by registering. */
import { signal } from '@preact/signals'
import type { Child } from '../base/element.ts'
import { words } from '../base/words.ts'
import { secretField, textField } from './field.ts'
import type { Form } from './form.ts'

const w = words({
  name: ['姓名', 'Name'],
  password: ['密码', 'Password'],
  hint: ['至少 8 个字符，建议 15 个以上。', 'At least 8 characters; 15 or more are better.'],
})

export function newPerson() {
  const name = signal('')
  const password = signal('')
  const shown = signal(false)
  return {
    filled: () => ({ name: name.value.trim(), password: password.value }),
    fields: (form: Form): Child => [
      textField({ name: 'name', label: w.name(), error: form.error('name') }, name, {
        autoComplete: 'name',
        autoFocus: true,
      }),
      secretField(
        { name: 'password', label: w.password(), hint: w.hint(), error: form.error('password') },
        password,
        shown,
        {
          autoComplete: 'new-password',
        },
      ),
    ],
  }
}
