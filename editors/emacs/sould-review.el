;;; sould-review.el --- Keep and reject what agents changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The commands of the review: from hunk to hunk, keep, reject, take back, comment.  A decision names the hunk that its user sees;
;; when that is another by now, nothing is done.  Saving a file is never a decision, and deciding moves no point.

;;; Code:

(require 'sould-hunks)

(defcustom sould-confirm-bulk-reject t
  "Whether rejecting all of a file or project asks first."
  :type 'boolean
  :group 'sould)

(defvar sould-review--asking nil "Non-nil while a decision of this editor is on its way.")
(defvar sould-review--own nil "Ids of hunks that were decided in this editor.")

(defvar-local sould-review-hunks-function #'sould-review--in-file
  "What gives the hunks that a command is about, in the current buffer.")

;;;; Which hunks

(defun sould-review--project ()
  "The project of the current buffer; signals `user-error' when it has none."
  (or (sould-project-current)
      (user-error "Nothing is known of a review here; `sould-mode' connects a file's buffer")))

(defun sould-review--in-file ()
  "The hunks at point, or of the region's lines."
  (mapcar (lambda (overlay) (overlay-get overlay 'sould-hunk))
          (if (use-region-p)
              (sould-hunks-between (region-beginning) (max (region-beginning) (1- (region-end))))
            (sould-hunks-between (point) (point)))))

(defun sould-review--chosen ()
  "The hunks that a command is about; signals `user-error' when there are none."
  (or (funcall sould-review-hunks-function)
      (user-error "No hunk here")))

(defun sould-review--lines (hunks)
  "The lines that the region chooses of HUNKS: (FROM TO), or nil for all."
  (when (and (use-region-p) (= 1 (length hunks)) (derived-mode-p 'text-mode 'prog-mode 'fundamental-mode))
    (let* ((start (plist-get (car hunks) :start))
           (count (length (plist-get (car hunks) :lines)))
           (from (max 0 (- (1- (line-number-at-pos (region-beginning) t)) start)))
           (to (min count (- (line-number-at-pos (max (region-beginning) (1- (region-end))) t) start))))
      (unless (or (>= from to) (and (= from 0) (= to count)))
        (list from to)))))

;;;; Deciding

;;;###autoload
(defun sould-keep ()
  "Keep the hunk at point, or those in the region, or the region's lines of one."
  (interactive)
  (sould-review--decide-chosen "keep" nil))

;;;###autoload
(defun sould-reject (&optional reason)
  "Reject the hunk at point, or those in the region, or the region's lines of one.
What you typed stays.  With a prefix argument, ask for the REASON that
the agent is told."
  (interactive (list (when current-prefix-arg (read-string "Tell the agent why: "))))
  (sould-review--decide-chosen "reject" reason))

(defun sould-review--decide-chosen (verdict reason)
  "Decide VERDICT, for REASON, about the hunks at point."
  (let* ((project (sould-review--project))
         (hunks (progn (sould-sync-flush-all project) (sould-review--chosen)))
         (lines (sould-review--lines hunks)))
    (deactivate-mark)
    (sould-review-decide project verdict hunks reason lines)))

(defun sould-review--named (hunks)
  "HUNKS as a decision names them."
  (vconcat (mapcar (lambda (hunk) (list :id (plist-get hunk :id) :digest (plist-get hunk :digest))) hunks)))

(defun sould-review-decide (project verdict hunks &optional reason lines)
  "Decide VERDICT about HUNKS of PROJECT, for REASON, or about LINES of one."
  (sould-review--answered project verdict reason
                          (sould-review--ask project verdict (list :hunks (sould-review--named hunks)) reason lines)
                          lines))

(defun sould-review--ask (project verdict what &optional reason lines choice)
  "Ask the server of PROJECT for VERDICT about WHAT; its answer.
REASON, LINES and CHOICE are sent along where they are given."
  (let ((sould-review--asking t))
    (sould-project-call project verdict
                        (append what
                                (when (and reason (not (string-empty-p reason))) (list :reason reason))
                                (when lines (list :lines (vconcat lines)))
                                (when choice (list :choice choice))))))

(defun sould-review--answered (project verdict reason answer &optional lines)
  "Say what ANSWER to VERDICT came to in PROJECT.
What it needs to go on is asked; REASON is for the agent.  LINES are
those of a hunk that it was about."
  (let ((done (plist-get answer :done)))
    (dolist (left (plist-get answer :left))
      (setq done (append done (sould-review--settle project verdict reason left))))
    (when done
      (let ((ids (mapcar (lambda (each)
                           (let ((part (plist-get each :part)))
                             (if (memq part '(nil 0)) (plist-get each :id) part)))
                         done)))
        (push ids (sould-project-decided project))
        (setq sould-review--own (append ids sould-review--own)))
      (sould-project-drop project (mapcar (lambda (each) (plist-get each :id))
                                          (seq-remove (lambda (each) (or lines (plist-get each :waits))) done)))
      (message "%s" (sould-review--said verdict done)))
    done))

(defun sould-review--settle (project verdict reason left)
  "Do VERDICT, for REASON, about LEFT of PROJECT, after a question if need be.
The hunks that are done with it."
  (let ((present (plist-get left :present)) (choices (plist-get left :choices)))
    (cond (choices
           (when-let ((choice (sould-review--choose left choices)))
             (plist-get (sould-review--ask project verdict
                                           (list :hunks (vector (list :id (plist-get left :id)
                                                                      :digest (or (plist-get present :digest) ""))))
                                           reason nil choice)
                        :done)))
          ;; What the user typed inside it made another of it: what they see is what it is now.
          ((and (equal (plist-get left :why) "hunk_stale") present (sould-review--seen-p present))
           (let ((again (sould-review--ask project verdict (list :hunks (sould-review--named (list present))) reason)))
             (append (plist-get again :done)
                     (cl-loop for each in (plist-get again :left)
                              if (plist-get each :choices) append (sould-review--settle project verdict reason each)
                              else do (message "sould: %s" (plist-get each :message))))))
          (t (message "sould: %s" (plist-get left :message)) nil))))

(defun sould-review--seen-p (hunk)
  "Whether HUNK, as it is, is to be seen in a buffer."
  (when-let ((buffer (sould-sync-buffer (plist-get hunk :path))))
    (with-current-buffer buffer
      (and (sould-hunks--fits-p hunk)
           (seq-some (lambda (overlay) (equal (plist-get (overlay-get overlay 'sould-hunk) :base) (plist-get hunk :base)))
                     (sould-hunks-drawn))))))

(defconst sould-review--meanings
  '(("mine" ?m "the lines stay as you changed them")
    ("drop" ?d "the lines go, and your words with them")
    ("leave" ?l "the lines stay, and are to be reviewed")
    ("replace" ?r "the old file takes the place of yours"))
  "What can be chosen, each with its key and its meaning.")

(defun sould-review--choose (left choices)
  "Ask which of CHOICES is to be done about LEFT; nil for none."
  (let* ((known (seq-filter (lambda (each) (member (car each) choices)) sould-review--meanings))
         (asked (append (mapcar (lambda (each) (list (nth 1 each) (car each) (nth 2 each))) known)
                        '((?q "nothing" "decide later"))))
         (picked (read-multiple-choice (concat (plist-get left :message) " ") asked)))
    (unless (eq (car picked) ?q)
      (nth 1 picked))))

(defun sould-review--said (verdict done)
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

;;;; Files and all

(defun sould-review--bulk (verdict what words)
  "Ask whether to do VERDICT about WHAT, which WORDS describe; do it."
  (let* ((project (sould-review--project))
         (hunks (if (plist-get what :all)
                    (sould-project-hunks project)
                  (plist-get (sould-project-file project (aref (plist-get what :paths) 0)) :hunks))))
    (unless hunks
      (user-error "Nothing to review in %s" words))
    (sould-sync-flush-all project)
    (when (or (equal verdict "keep")
              (not sould-confirm-bulk-reject)
              (y-or-n-p (format "Reject %d hunk%s in %s? " (length hunks) (if (cdr hunks) "s" "") words)))
      (sould-review--answered project verdict nil (sould-review--ask project verdict what)))))

(defun sould-review--path ()
  "The file that a command is about."
  (or (when sould-sync--project sould-sync--path)
      (plist-get (car (funcall sould-review-hunks-function)) :path)
      (user-error "No file here")))

;;;###autoload
(defun sould-keep-file ()
  "Keep all that is pending in this file."
  (interactive)
  (let ((path (sould-review--path)))
    (sould-review--bulk "keep" (list :paths (vector path)) (file-name-nondirectory path))))

;;;###autoload
(defun sould-reject-file ()
  "Reject all that is pending in this file; what you typed stays."
  (interactive)
  (let ((path (sould-review--path)))
    (sould-review--bulk "reject" (list :paths (vector path)) (file-name-nondirectory path))))

;;;###autoload
(defun sould-keep-all ()
  "Keep all that is pending in this project."
  (interactive)
  (sould-review--bulk "keep" '(:all t) "this project"))

;;;###autoload
(defun sould-reject-all ()
  "Reject all that is pending in this project; what you typed stays."
  (interactive)
  (sould-review--bulk "reject" '(:all t) "this project"))

;;;###autoload
(defun sould-undo (&optional older)
  "Take back the last decision that was made here.
What is refused stays the last one, to be tried again; with OLDER, a
prefix argument, the decision before it is taken back."
  (interactive "P")
  (let* ((project (sould-review--project))
         (later (seq-take (sould-project-decided project) (if older 1 0)))
         (ids (nth (length later) (sould-project-decided project))))
    (unless ids
      (user-error "Nothing was decided here"))
    (sould-sync-flush-all project)
    (let* ((answer (sould-review--ask project "undo" (list :hunks (vconcat (mapcar (lambda (id) (list :id id)) ids)))))
           (done (plist-get answer :done))
           (refused (sould-review--refused (plist-get answer :left))))
      (setf (sould-project-decided project)
            (append later (and refused (list refused)) (nthcdr (1+ (length later)) (sould-project-decided project))))
      (when done
        (message "%s" (sould-review--said "undo" done)))
      (dolist (left (plist-get answer :left))
        (message "sould: %s" (plist-get left :message))))))

(defun sould-review--refused (left)
  "The ids of LEFT that may still be taken back: what stands in the way may go."
  (mapcar (lambda (each) (plist-get each :id))
          (seq-filter (lambda (each) (member (plist-get each :why) '("changed" "conflict" "failed" "still_streaming"))) left)))

;;;; Going there

;;;###autoload
(defun sould-next-hunk (&optional count)
  "Go to the next hunk, or the COUNTth.
Behind the last one, go to that of the next file."
  (interactive "p")
  (sould-review--go (or count 1)))

;;;###autoload
(defun sould-previous-hunk (&optional count)
  "Go to the previous hunk, or the COUNTth.
Before the first one, go to that of the file before."
  (interactive "p")
  (sould-review--go (- (or count 1))))

(defun sould-review--go (count)
  "Go COUNT hunks on, or back."
  (let* ((places (delete-dups (mapcar #'overlay-start (sould-hunks-drawn))))
         (here (line-beginning-position))
         (ahead (if (> count 0)
                    (seq-filter (lambda (place) (> place here)) places)
                  (nreverse (seq-filter (lambda (place) (< place here)) places))))
         (place (nth (1- (abs count)) ahead)))
    (if place
        (progn (push-mark nil t)
               (goto-char place)
               (sould-review--where))
      (sould-review--go-file (> count 0)))))

(defun sould-review--where ()
  "Say which hunk point is at."
  (when-let ((hunk (car (sould-review--in-file))))
    (let* ((all (mapcar (lambda (overlay) (plist-get (overlay-get overlay 'sould-hunk) :id)) (sould-hunks-drawn)))
           (place (seq-position all (plist-get hunk :id))))
      (message "Hunk %d of %d in this file%s" (1+ (or place 0)) (length all) (sould-hunks-by hunk)))))

(defun sould-review--go-file (onward)
  "Go to the first hunk of the next file, if ONWARD, else to the last before."
  (let* ((project (sould-review--project))
         (paths (seq-filter (lambda (path) (plist-get (sould-project-file project path) :exists))
                            (sould-project-paths project)))
         (here (or sould-sync--path ""))
         (next (or (if onward
                       (seq-find (lambda (path) (string< here path)) paths)
                     (seq-find (lambda (path) (string< path here)) (reverse paths)))
                   (car (if onward paths (last paths))))))
    (cond ((null next) (user-error "Nothing to review in this project"))
          ((and (equal next here) (sould-hunks-drawn))
           (push-mark nil t)
           (goto-char (overlay-start (car (if onward (sould-hunks-drawn) (last (sould-hunks-drawn))))))
           (message "From the %s again" (if onward "top" "end")))
          (t (sould-review-visit (let ((hunks (plist-get (sould-project-file project next) :hunks)))
                                   (if onward (car hunks) (car (last hunks)))))))))

(defun sould-review-visit (hunk)
  "Go to HUNK in its file, in the selected window."
  (find-file (plist-get hunk :path))
  (push-mark nil t)
  (goto-char (sould-hunks--line (plist-get hunk :start)))
  (message "%s" (file-name-nondirectory (plist-get hunk :path))))

;;;; Comments

;;;###autoload
(defun sould-comment (text)
  "Keep TEXT as a comment for the agent about the hunk or the lines at point."
  (interactive (list (read-string "Comment for the agent: ")))
  (let* ((project (sould-review--project)) (hunk (car (funcall sould-review-hunks-function))))
    (sould-sync-flush-all project)
    (sould-project-call project "comment"
                        (append (list :text text)
                                (if hunk
                                    (list :hunk (plist-get hunk :id))
                                  (list :path (sould-review--path) :lines (sould-review--line-range)))))
    (message "%s" (substitute-command-keys "Noted.  \\[sould-send-comments] sends all comments to the agent"))))

(defun sould-review--line-range ()
  "The lines of the region, or of point: [FROM TO]."
  (if (use-region-p)
      (vector (1- (line-number-at-pos (region-beginning) t)) (line-number-at-pos (max (region-beginning) (1- (region-end))) t))
    (vector (1- (line-number-at-pos nil t)) (line-number-at-pos nil t))))

;;;###autoload
(defun sould-send-comments ()
  "Send the comments of this project to the session that wrote what they are about."
  (interactive)
  (let* ((project (sould-review--project))
         (answer (sould-project-call project "comments/send" nil)))
    (message "%s" (pcase (plist-get answer :outcome)
                    ("sent" "The comments are sent")
                    ("closed" "The session they belong to is not open; `sould-chat' opens one")
                    (other (format "The comments are not sent: %s" other))))))

;;;; What others decided

(defun sould-review--decided (_project decisions)
  "Say who decided, of DECISIONS, what was not decided here."
  (when-let ((others (unless sould-review--asking
                       (seq-remove (lambda (each) (memq (plist-get each :id) sould-review--own)) decisions))))
    (let ((last (car (last others))))
      (message "sould: %s: %s by %s" (file-name-nondirectory (plist-get last :path))
               (pcase (plist-get last :verdict) ("keep" "kept") ("reject" "rejected") (_ "to be reviewed again"))
               (plist-get last :by)))))

(add-hook 'sould-project-decided-functions #'sould-review--decided)

(provide 'sould-review)
;;; sould-review.el ends here
