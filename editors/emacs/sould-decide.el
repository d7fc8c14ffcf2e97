;;; sould-decide.el --- Decisions on their way  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Has decisions carried out and says what they came to.  Nothing waits for the server: the answer comes while its user goes on,
;; and the next decision is sent then.  What they type meanwhile is for their text, and answers no question.

;;; Code:

(require 'sould-hunks)

(cl-defstruct (sould-decide--decision (:constructor sould-decide--decision) (:copier nil))
  "The decision VERDICT in PROJECT, for REASON, about LINES of a hunk or all.
KEYS is how many keys the user had pressed then, DONE what is done of it."
  verdict project reason lines (keys num-nonmacro-input-events) done)

(defvar sould-decide--own nil "Ids of hunks that were decided in this editor.")

(defun sould-decide (project verdict what &optional reason lines)
  "Decide VERDICT about WHAT in PROJECT, behind the decisions before it.
REASON is for the agent, LINES are those of one hunk."
  (let ((decision (sould-decide--decision :verdict verdict :project project :reason reason :lines lines)))
    (sould-decide--in-turn project
                           (lambda ()
                             (sould-decide--ask decision what
                                                (lambda (answer) (sould-decide--took decision answer (plist-get answer :left))))))))

(defun sould-decide-named (hunks)
  "HUNKS as a decision names them."
  (vconcat (mapcar (lambda (hunk) (list :id (plist-get hunk :id) :digest (plist-get hunk :digest))) hunks)))

;;;; One after the other

(defun sould-decide--in-turn (project begin)
  "Call BEGIN when nothing that was asked before it is open in PROJECT."
  (setf (sould-project-waits project) (append (sould-project-waits project) (list begin)))
  (sould-decide--next project))

(defun sould-decide--next (project)
  "Begin what is next in PROJECT."
  (while (and (= 0 (sould-project-asked project)) (sould-project-waits project))
    (funcall (pop (sould-project-waits project)))))

(defun sould-decide--answered (project then)
  "Call THEN, as something that was open in PROJECT is answered."
  (unwind-protect
      (funcall then)
    (setf (sould-project-asked project) (max 0 (1- (sould-project-asked project))))
    (sould-decide--next project)))

(defun sould-decide--ask (decision what then &optional choice)
  "Ask the server to carry DECISION out about WHAT; THEN takes its answer.
An error is told, and nil is the answer.  CHOICE is what the user chose
about words of their own."
  (let* ((project (sould-decide--decision-project decision))
         (reason (sould-decide--decision-reason decision))
         (lines (sould-decide--decision-lines decision))
         (silent (run-at-time sould-timeout nil #'message "%s" sould-rpc-silent))
         (handler (lambda (take answer)
                    (cancel-timer silent)
                    (sould-decide--answered project (lambda () (funcall take answer))))))
    (sould-project-request project (sould-decide--decision-verdict decision)
                           (append what
                                   (unless (member reason '(nil "")) (list :reason reason))
                                   (when lines (list :lines (vconcat lines)))
                                   (when choice (list :choice choice)))
                           (apply-partially handler then)
                           (apply-partially handler (lambda (failure)
                                                      (sould-rpc-tell failure)
                                                      (funcall then nil))))
    (cl-incf (sould-project-asked project))))

;;;; What a decision came to

(defun sould-decide--took (decision answer left)
  "Take ANSWER to DECISION, and go on with LEFT, of which nothing is done yet.
What it needs is asked, a hunk at a time; then all is told."
  (let* ((each (car left)) (rest (cdr left)) (present (plist-get each :present))
         (again (lambda (what &optional choice)
                  (sould-decide--ask decision what
                                     (lambda (answer)
                                       (sould-decide--took decision answer
                                                           (append (sould-decide--once (plist-get answer :left)) rest)))
                                     choice))))
    (cl-callf append (sould-decide--decision-done decision) (plist-get answer :done))
    (cond ((null left) (sould-decide--tell decision))
          ((plist-get each :choices)
           (sould-decide--choose decision each
                                 (lambda (choice)
                                   (if choice
                                       (funcall again (list :hunks (vector (list :id (plist-get each :id)
                                                                                 :digest (or (plist-get present :digest) ""))))
                                                choice)
                                     (sould-decide--took decision nil rest)))))
          ;; What the user typed inside it made another of it: what they see is what it is now.
          ((and (equal (plist-get each :why) "hunk_stale") present (sould-decide--seen-p present)
                (not (sould-decide--decision-lines decision)))
           (funcall again (list :hunks (sould-decide-named (list present)))))
          (t (message "sould: %s" (plist-get each :message))
             (sould-decide--took decision nil rest)))))

(defun sould-decide--once (left)
  "LEFT of what was asked once more: it is not looked at again."
  (mapcar (lambda (each) (plist-put each :why nil)) left))

(defun sould-decide--tell (decision)
  "Say what DECISION came to, and keep it for `sould-undo'."
  (when-let ((done (sould-decide--decision-done decision)))
    (let ((project (sould-decide--decision-project decision))
          (ids (mapcar (lambda (each)
                         (let ((part (plist-get each :part)))
                           (if (memq part '(nil 0)) (plist-get each :id) part)))
                       done)))
      (push ids (sould-project-decided project))
      (setq sould-decide--own (append ids sould-decide--own))
      (sould-project-drop project
                          (mapcar (lambda (each) (plist-get each :id))
                                  (seq-remove (lambda (each)
                                                (or (sould-decide--decision-lines decision) (plist-get each :waits)))
                                              done)))
      (message "%s" (sould-decide--said (sould-decide--decision-verdict decision) done)))))

(defun sould-decide--seen-p (hunk)
  "Whether HUNK, as it is, is to be seen in a buffer."
  (when-let ((buffer (sould-sync-buffer (plist-get hunk :path))))
    (with-current-buffer buffer
      (and (sould-hunks--fits-p hunk)
           (seq-some (lambda (overlay) (equal (plist-get (overlay-get overlay 'sould-hunk) :base) (plist-get hunk :base)))
                     (sould-hunks-drawn))))))

(defconst sould-decide--meanings
  '(("mine" ?m "the lines stay as you changed them")
    ("drop" ?d "the lines go, and your words with them")
    ("leave" ?l "the lines stay, and are to be reviewed")
    ("replace" ?r "the old file takes the place of yours"))
  "What can be chosen, each with its key and its meaning.")

(defun sould-decide--choose (decision left then)
  "Ask what is to be done about LEFT of DECISION; THEN takes it, nil for nothing.
Only of a user who has pressed no key since: it may be meant for a text."
  (let ((project (sould-decide--decision-project decision)))
    (cl-incf (sould-project-asked project))
    (run-at-time 0 nil #'sould-decide--answered project
                 (lambda ()
                   (funcall then
                            (if (= num-nonmacro-input-events (sould-decide--decision-keys decision))
                                (with-local-quit (sould-decide--read-choice left))
                              (message "sould: hunk %d waits for your choice: %s it again to make it"
                                       (plist-get left :id) (sould-decide--decision-verdict decision))
                              nil))))))

(defun sould-decide--read-choice (left)
  "What the user chooses about LEFT; nil for nothing."
  (let* ((known (seq-filter (lambda (each) (member (car each) (plist-get left :choices))) sould-decide--meanings))
         (asked (append (mapcar (lambda (each) (list (nth 1 each) (car each) (nth 2 each))) known)
                        '((?q "nothing" "decide later"))))
         (picked (read-multiple-choice (concat (plist-get left :message) " ") asked)))
    (unless (eq (car picked) ?q)
      (nth 1 picked))))

(defun sould-decide--said (verdict done)
  "What VERDICT did, in words; DONE are the hunks."
  (let* ((waits (seq-count (lambda (each) (plist-get each :waits)) done))
         (gone (seq-some (lambda (each) (equal (plist-get each :newFile) "gone")) done))
         (stayed (apply #'+ (mapcar (lambda (each) (length (plist-get each :stayed))) done)))
         (what (if (= 1 (length done))
                   (format "hunk %d of %s" (plist-get (car done) :id) (file-name-nondirectory (plist-get (car done) :path)))
                 (format "%d hunks" (length done)))))
    (concat (pcase verdict ("keep" "Kept ") ("reject" "Rejected ") (_ "To be reviewed again: ")) what
            (when (> stayed 0) (format "; %d line%s of yours stayed" stayed (if (= stayed 1) "" "s")))
            (when gone "; the agent's new file is gone")
            (when (> waits 0) ", as soon as the agent's step ends")
            (substitute-command-keys (if (member verdict '("keep" "reject")) ".  \\[sould-undo] takes it back" "")))))

;;;; Taking back

(defun sould-decide-undo (project newer)
  "Take back the last decision in PROJECT before the NEWER ones."
  (sould-decide--in-turn project (lambda () (sould-decide--take-back project newer))))

(defun sould-decide--take-back (project newer)
  "Take back the last decision in PROJECT before the NEWER ones, now."
  (let ((ids (nth newer (sould-project-decided project))))
    (unless ids
      (user-error "Nothing was decided here"))
    (sould-decide--ask (sould-decide--decision :verdict "undo" :project project)
                       (list :hunks (vconcat (mapcar (lambda (id) (list :id id)) ids)))
                       (lambda (answer)
                         (let ((done (plist-get answer :done)) (refused (sould-decide--refused (plist-get answer :left))))
                           (when answer
                             (cl-callf2 delq ids (sould-project-decided project)))
                           (when refused
                             (push refused (nthcdr newer (sould-project-decided project))))
                           (when done
                             (message "%s" (sould-decide--said "undo" done)))
                           (dolist (left (plist-get answer :left))
                             (message "sould: %s" (plist-get left :message))))))))

(defun sould-decide--refused (left)
  "The ids of LEFT that may still be taken back: what stands in the way may go."
  (mapcar (lambda (each) (plist-get each :id))
          (seq-filter (lambda (each) (member (plist-get each :why) '("changed" "conflict" "failed" "still_streaming"))) left)))

;;;; What others decided

(defun sould-decide--decided (project decisions)
  "Say who decided, of DECISIONS in PROJECT, what was not decided here."
  (when-let ((others (when (= 0 (sould-project-asked project))
                       (seq-remove (lambda (each) (memq (plist-get each :id) sould-decide--own)) decisions))))
    (let ((last (car (last others))))
      (message "sould: %s: %s by %s" (file-name-nondirectory (plist-get last :path))
               (pcase (plist-get last :verdict) ("keep" "kept") ("reject" "rejected") (_ "to be reviewed again"))
               (plist-get last :by)))))

(add-hook 'sould-project-decided-functions #'sould-decide--decided)

(provide 'sould-decide)
;;; sould-decide.el ends here
